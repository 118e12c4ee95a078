"""A model that another toolkit trained, made into an ordinary model folder: exactly the same model, or none."""

import hashlib
import json
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from antiphon.api import load
from antiphon.build.model import build_model
from antiphon.config.schema import Data, LanguageModel, Run, Search, Side, TransformerStack
from antiphon.errors import AntiphonError
from antiphon.exchange.families import Model as Foreign
from antiphon.exchange.families import read_model
from antiphon.exchange.foreign import CONFIG, Folder, Settings
from antiphon.files import write_text
from antiphon.store import CARD, REPORT, save_settings, save_weights
from antiphon.trained import Model

_MAX_LENGTH = 256  # symbols of a text, where the model has places for so many
_WINDOW = 512


def import_folder(folder: str | Path, out: str | Path) -> Model:
    """Make a model folder `out` of a Hugging Face folder that holds a GPT-2, a BERT or a RoBERTa.

    Nothing is fetched, nothing but plain files of known names is read, and what is not understood is refused: a model
    that comes through computes the same numbers. Its report says what did not come along.
    """
    folder, out = Path(folder), Path(out)
    if not folder.is_dir():
        raise AntiphonError(f"{folder}: no such folder. Name one that holds a {CONFIG} and a model.safetensors.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise AntiphonError(f"{out}: there already. Choose another --out.")
    foreign = Folder(folder)
    settings = Settings(folder / CONFIG, foreign.table(CONFIG))
    try:
        found = read_model(foreign, settings)
        run = _run(found, folder)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise AntiphonError(f"{settings.path}: tells of a model that cannot be built here: {reason}.") from error
    tokenizer = found.adopted.tokenizer
    _check_parts(found, run)
    save_settings(out, run, tokenizer, tokenizer)
    save_weights(out, found.tensors, run, tokenizer, tokenizer)
    report = _report(foreign, settings, found)
    write_text(out / REPORT, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    write_text(out / CARD, _card(out.name, folder.name, run, report))
    return load(out)


def _run(found: Foreign, folder: Path) -> Run:
    half = next(iter(found.choice.halves.values()))
    assert isinstance(half, TransformerStack), "all families are Transformers"
    writes = isinstance(found.choice, LanguageModel)
    paired = not isinstance(found.choice, LanguageModel) and found.choice.next_sentence
    data = Data(
        train=[str(folder)],
        target=Side(tokenizer=found.adopted.choice),
        max_length=max(1, min(_MAX_LENGTH, half.max_positions - (1 if writes else 2))),
        window=min(_WINDOW, half.max_positions) if paired else 0,
    )
    # The likeliest texts of a large model go in circles; draws from its nucleus do not (Holtzman et al., 2020).
    search = Search(sample=True, top_p=0.9) if writes else Search()
    return Run(data=data, model=found.choice, search=search)


def _check_parts(found: Foreign, run: Run) -> None:
    """Every part of our model has its tensor, and every tensor its part."""
    size = found.adopted.tokenizer.size
    with torch.device("meta"):
        model = build_model(run.model, size, size)
    wanted = {name: tuple(part.shape) for name, part in model.named_parameters()}
    assert wanted == {name: tuple(tensor.shape) for name, tensor in found.tensors.items()}, "a family maps all parts"


def _report(foreign: Folder, settings: Settings, found: Foreign) -> dict[str, Any]:
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "antiphon": version("antiphon"),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "imported": {
            "folder": foreign.path.resolve().name,
            "model_type": settings.values["model_type"],
            "name": _plain(settings.values.get("_name_or_path")),
            "parameters": sum(tensor.numel() for tensor in found.tensors.values()),
            "files": {name: _hash(foreign.file(name)) for name in sorted(foreign.opened)},
            "notes": list(found.notes),
        },
    }


def _plain(name: object) -> str:
    """A name from a foreign file, if it is one: a card is read by people, and shown by browsers."""
    return name if isinstance(name, str) and re.fullmatch(r"[\w./-]{1,100}", name) else ""


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _card(name: str, origin: str, run: Run, report: dict[str, Any]) -> str:
    facts = report["imported"]
    files = "\n".join(f"| `{file}` | `{digest}` |" for file, digest in facts["files"].items())
    notes = "".join(f"\n- {note}" for note in facts["notes"])
    called = f", there called `{facts['name']}`" if facts["name"] else ""
    asked = "prompts.txt" if isinstance(run.model, LanguageModel) else "sentences-with-[MASK].txt"
    return f"""# {name}

A {run.model.kind.removesuffix("_model")} model of {facts["parameters"]:,} parameters, imported by Antiphon from the
`{facts["model_type"]}` model in `{origin}`{called}. Nothing was trained.
Its licence is that of the model it was made from.

```sh
antiphon predict {name} {asked}
```
{f"{chr(10)}What did not come along:{chr(10)}{notes}{chr(10)}" if notes else ""}
| read | SHA-256 |
|---|---|
{files}
"""
