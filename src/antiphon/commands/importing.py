"""`antiphon import`: a model of another toolkit as a model folder."""

from pathlib import Path

from antiphon.config.schema import LanguageModel
from antiphon.data.masking import WRITTEN
from antiphon.exchange.importing import import_folder


def run_import(folder: Path, out: Path) -> None:
    model = import_folder(folder, out)
    run, facts = model.pipeline.run, model.report["imported"]
    kind = run.model.kind.removesuffix("_model")
    (half,) = run.model.halves.values()
    symbols = f"{model.pipeline.target.size:,} symbols ({run.data.target.tokenizer.kind})"
    print(
        f"{facts['model_type']}: a {kind} model of {facts['parameters']:,} parameters, "
        f"{half.layers} layer{'s' * (half.layers > 1)}, {symbols}."
    )
    for note in facts["notes"]:
        print(f"Left behind: {note}.")
    print(f"Every {'other ' if facts['notes'] else ''}tensor and key was understood and has its place.")
    asked = "Once upon a time" if isinstance(run.model, LanguageModel) else f"A day has 24 {WRITTEN}."
    print(f"Model folder: {out}. Ask it: echo '{asked}' | antiphon predict {out}")
