"""A model folder on disk: config, tokenisers, weights. Nothing is ever unpickled, and a damaged file is refused."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.config.former import as_trained
from antiphon.config.schema import Run
from antiphon.config.toml import dump_run, read_resolved
from antiphon.data.holes import opened
from antiphon.data.tokenize import Choice, Tokenizer, load_tokenizer, save_tokenizer
from antiphon.errors import AntiphonError
from antiphon.files import PARTIAL, make_folder, write_text, write_whole
from antiphon.models.model import Model

FORMAT = 1
WEIGHTS, CONFIG, REPORT, CARD = "model.safetensors", "antiphon.toml", "report.json", "README.md"
LOG, CHECKPOINTS, TOKENS = "log.jsonl", "checkpoints", "tokens"
_TOKENISERS = [f"{side}.tokenizer.{ending}" for side in ("source", "target") for ending in ("json", "model")]
KNOWN = {WEIGHTS, CONFIG, REPORT, CARD, LOG, CHECKPOINTS, TOKENS, *_TOKENISERS}


@dataclass(frozen=True)
class Loaded:
    """A model folder, read and found whole."""

    run: Run
    model: Model
    source: Tokenizer  # the target's own where there is no source
    target: Tokenizer
    report: dict[str, Any]


def load_folder(folder: Path) -> Loaded:
    """Read a model folder; refuse what is missing, damaged, foreign, or made by a newer version."""
    refuse_strangers(folder)
    if not (folder / WEIGHTS).is_file():
        raise AntiphonError(
            f"{folder}: no {WEIGHTS} in it. A run writes its first weights with its first checkpoint; "
            "let it train longer, or name another folder."
        )
    tensors, facts = read_tensors(folder / WEIGHTS)  # first, because a newer version's config may hold new keys
    run = read_resolved(folder / CONFIG)
    target = load_tokenizer(folder, "target", run.data.target_tokenizer)
    source = load_tokenizer(folder, "source", run.data.source.tokenizer) if run.has_source else target
    for name, value in identity(run, source, target).items():
        known = facts.get(name, "")
        if known != value and not (name == "choices" and _mean_the_same(known, run)):
            raise AntiphonError(
                f"{folder}: {_WHERE[name]} is not the one that {WEIGHTS} was trained with. Copy the folder anew."
            )
    model = _fitting_model(run, source, target, tensors, folder / WEIGHTS)
    fill(model, tensors)
    return Loaded(run, model.eval(), opened(source, run.data), opened(target, run.data), _read_report(folder / REPORT))


def load_settings(folder: Path) -> Run:
    """The choices of a model folder, without its weights."""
    refuse_strangers(folder)
    return read_resolved(folder / CONFIG)


def refuse_strangers(folder: Path) -> None:
    """A model folder holds what this program wrote and nothing else: no scripts, no pickles, no links."""
    if not folder.is_dir():
        raise AntiphonError(
            f"{folder}: no such model folder. `antiphon train` makes one; `antiphon demo` makes a small one."
        )
    entries = sorted(folder.iterdir())
    if not any(entry.name == CONFIG for entry in entries):
        raise AntiphonError(f"{folder}: not a model folder: it has no {CONFIG}. Name one that `antiphon train` made.")
    for entry in entries:
        if entry.is_symlink():
            raise AntiphonError(
                f"{entry}: a link, and a model folder holds plain files only. Replace it by the file itself."
            )
        if not (entry.is_file() or entry.is_dir()):
            raise AntiphonError(f"{entry}: neither a file nor a folder. Delete it.")
        if entry.name.removesuffix(PARTIAL) not in KNOWN:
            raise AntiphonError(f"{entry}: not part of a model folder, so nothing in it is trusted. Move it elsewhere.")


def save_settings(folder: Path, run: Run, source: Tokenizer, target: Tokenizer) -> None:
    """What does not change while a run trains."""
    make_folder(folder)
    if run.has_source:
        save_tokenizer(source, folder, "source")
    save_tokenizer(target, folder, "target")
    write_text(folder / CONFIG, dump_run(run))


def save_weights(folder: Path, weights: Mapping[str, Tensor], run: Run, source: Tokenizer, target: Tokenizer) -> None:
    write_tensors(folder / WEIGHTS, weights, identity(run, source, target))


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter once, under its first name, however many parts share it."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def fill(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])


def identity(run: Run, source: Tokenizer, target: Tokenizer) -> dict[str, str]:
    """What weights belong to. It is kept inside their file, so one atomic write changes all that has to agree."""
    choices = {"model": run.model.model_dump(), "tokenizers": [choice.model_dump() for choice in _cutting(run)]}
    facts = {"antiphon": str(FORMAT), "choices": json.dumps(choices, sort_keys=True)}
    facts |= {"source": hashlib.sha256(source.to_bytes()).hexdigest()} if run.has_source else {}
    return facts | {"target": hashlib.sha256(target.to_bytes()).hexdigest()}


def _cutting(run: Run) -> list[Choice]:
    """How text is cut, of every side that there is."""
    return [run.data.source.tokenizer, run.data.target_tokenizer][not run.has_source :]


def _mean_the_same(choices: str, run: Run) -> bool:
    """Weights from before a key existed were trained as its default says, or as `as_trained` does."""
    try:
        tables = as_trained(json.loads(choices))
        model = TypeAdapter[schema.Model](schema.Model).validate_python(tables["model"])
        tokenizers = [schema.Side.model_validate({"tokenizer": table}).tokenizer for table in tables["tokenizers"]]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
    return model == run.model and tokenizers == _cutting(run)


_WHERE = {
    "antiphon": "the format", "choices": CONFIG, "source": "the source tokeniser", "target": "the target tokeniser",
}  # fmt: skip


def write_tensors(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, str]) -> None:
    """Tensors and facts in one file that carries its own checksum, whole or not there."""
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    head, body = _in_order(save(tensors, {**facts, "sha256": _checksum(tensors, facts)}))
    write_whole(path, lambda file: (file.write(head), file.write(body)))


def _in_order(content: bytes) -> tuple[bytes, memoryview]:
    """Head and body of a safetensors file, its facts in alphabetical order: the library leaves them in a random one.

    So equal weights are equal files, and a hash can compare them.
    """
    end = 8 + int.from_bytes(content[:8], "little")
    head = json.loads(content[8:end])
    head["__metadata__"] = dict(sorted(head["__metadata__"].items()))
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode()
    return content[:8] + text.ljust(end - 8), memoryview(content)[end:]


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """What `write_tensors` wrote; anything else, down to one flipped bit, is refused."""
    try:
        with safe_open(path, framework="pt") as file:
            facts = dict(file.metadata() or {})
            _check_format(path, facts)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, ValueError, RuntimeError, MemoryError) as error:
        raise _damaged(path) from error
    claimed = facts.pop("sha256", "")
    if _checksum(tensors, facts) != claimed:
        raise _damaged(path)
    return tensors, facts


def _check_format(path: Path, facts: Mapping[str, str]) -> None:
    version = facts.get("antiphon", "")
    if not version.isdecimal():
        raise AntiphonError(f"{path}: not written by Antiphon. Make it anew: antiphon train, or antiphon import.")
    if int(version) > FORMAT:
        raise AntiphonError(
            f"{path}: written by a newer version (format {version}; this one reads {FORMAT}). "
            "Upgrade: pip install -U antiphon"
        )


def _damaged(path: Path) -> AntiphonError:
    return AntiphonError(
        f"{path}: damaged: its checksum does not match, or it is cut short. Copy it anew, or train again."
    )


def _checksum(tensors: Mapping[str, Tensor], facts: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data if tensor.numel() else b"")
    return digest.hexdigest()


def _fitting_model(run: Run, source: Tokenizer, target: Tokenizer, tensors: Mapping[str, Tensor], path: Path) -> Model:
    """The model that the config describes, built for real only when the file holds exactly its tensors."""
    found = {name: tensor.shape for name, tensor in tensors.items()}
    shapes: dict[str, torch.Size] = {}
    # A layer has a tensor at least, so more layers than tensors need not be built to be refused.
    if max(half.layers for half in run.model.halves.values()) <= len(found):
        try:
            with torch.device("meta"), _Undrawn():
                model = build_model(run.model, source.size, target.size)
        except (RuntimeError, TypeError) as error:  # of sizes that no machine can count
            reason = str(error).partition("\n")[0]
            raise AntiphonError(f"{path}: {CONFIG} tells of a model that cannot be built: {reason}.") from error
        shapes = {name: part.shape for name, part in model.named_parameters()}
    if shapes != found:
        wrong = sorted(name for name in shapes.keys() | found.keys() if shapes.get(name) != found.get(name))
        raise AntiphonError(
            f"{path}: does not fit {CONFIG}: {wrong[0]} and {len(wrong) - 1} more differ. Copy the folder anew."
        )
    return build_model(run.model, source.size, target.size)


class _Undrawn(TorchFunctionMode):
    """Leave out normal draws: on a device without numbers torch would load its compiler for them, for a second."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return args[0] if func is Tensor.normal_ else func(*args, **(kwargs or {}))


def _read_report(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        report = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        raise AntiphonError(f"{path}: damaged: not JSON. Copy it anew, or delete it.") from error
    return report if isinstance(report, dict) else {}
