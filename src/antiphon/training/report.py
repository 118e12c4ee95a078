"""What a finished folder says of itself: `report.json` for machines, `README.md` for people."""

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import torch

from antiphon.config.schema import Run
from antiphon.data.prepare import Prepared
from antiphon.data.rows import NOUNS, examples
from antiphon.files import write_text
from antiphon.store import CARD
from antiphon.training.checkpoint import Progress
from antiphon.training.folder import write_report
from antiphon.training.validate import Judgement

# What such a model is more or less sure of, and what its loss is counted by.
_UNITS = {
    "classifier": ("a label", "a text"),
    "tagger": ("a tag", "a word"),
    "spans": ("an answer", "a window of a paragraph"),
    "masked": ("a symbol", "a hidden symbol"),
}
_WRITTEN = ("a symbol", "a target symbol, the end included, with the true ones before it")


def describe(folder: Path, run: Run, prepared: Prepared, progress: Progress, judgement: Judgement) -> None:
    """Write both; called with every new best, so that a stopped run is described too."""
    report = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "antiphon": version("antiphon"),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "data": prepared.report.to_dict(),
        "step": progress.step,
        "minutes": round(progress.seconds / 60, 2),
        "target_tokens": progress.tokens,
        "skipped_updates": progress.skipped,
        "clipped_updates": progress.clipped,
        "validation": judgement.numbers,
        "calibration": judgement.calibration and judgement.calibration.to_dict(),
        "scores": [
            {"name": score.name, "value": score.value, "signature": score.signature} for score in judgement.scores
        ],
    }
    write_report(folder, report)
    write_text(folder / CARD, _card(folder, run, prepared, progress, judgement))


def _card(folder: Path, run: Run, prepared: Prepared, progress: Progress, judgement: Judgement) -> str:
    numbers = "\n".join(f"| {name} | {value:.4f} |" for name, value in judgement.numbers.items())
    if judgement.calibration is not None:
        fit = judgement.calibration.fit
        errors = f"{fit.error_before:.4f}, and {fit.error_after:.4f} at temperature {fit.temperature:.3f}"
        numbers += f"\n| calibration error | {errors} |"
    signatures = "".join(f"\n- {score.name}: `{score.signature}`" for score in judgement.scores)
    samples = "\n".join(
        f"| {_cell(source)} | {_cell(expected)} | {_cell(answer)} |" for source, expected, answer in judgement.samples
    )
    parts = ", ".join(f"{half.kind} {name}" for name, half in run.model.halves.items())
    nouns, masked = f"{NOUNS[run.rows]}s", run.model.kind == "masked"
    asked = "source" if run.has_source else "text with holes" if masked else "beginning"
    of, counted = _UNITS.get(run.model.kind, _WRITTEN)
    return f"""# {folder.name}

A {run.model.kind} model ({parts}), trained with Antiphon on
{prepared.report.counts[0].kept:,} {nouns} for {progress.step:,} steps ({progress.seconds / 60:.1f} minutes).

```sh
antiphon predict {folder.name} {examples(run.rows, masked)[0]}
```

| on {len(prepared.valid_pairs):,} validation {nouns} | |
|---|---|
{numbers}
{signatures}

| {asked} | expected | answer |
|---|---|---|
{samples}

Loss, and what comes of it, and calibration error (the mean gap between how sure it is of {of} and how often it is
right) are counted {counted}. It answers what resembles its training
{nouns}; on other text it will still answer, surely and wrongly.
`report.json` holds the data report, `antiphon.toml` every choice that was made.
"""


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
