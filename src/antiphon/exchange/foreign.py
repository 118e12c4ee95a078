"""A folder that another toolkit wrote: only plain files of known names are opened, and nothing is ever unpickled."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from antiphon.errors import AntiphonError

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
_PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
_MOST_TEXT, _MOST_HEAD = 64 << 20, 16 << 20  # bytes, many times what real folders hold
_NUMBERS = (torch.float32, torch.float16, torch.bfloat16)
T = TypeVar("T")


@dataclass(frozen=True)
class Folder:
    """The files of a foreign model."""

    path: Path
    opened: set[str] = field(default_factory=set)  # the names of the files that were read

    def has(self, name: str) -> bool:
        return os.path.lexists(self.path / name)

    def file(self, name: str) -> Path:
        """A plain file of this folder itself: no name from a file leads out of it."""
        path = self.path / name
        if Path(name).name != name or name in ("", ".", ".."):
            raise AntiphonError(f"{self.path}: names a file {name[:80]!r}, which is none of its own. Get it anew.")
        if path.is_symlink():
            raise AntiphonError(f"{path}: a link, and only plain files are read. Copy the folder with cp -rL first.")
        if not path.is_file():
            raise AntiphonError(f"{path}: no such file. Is the folder whole?")
        self.opened.add(name)
        return path

    def text(self, name: str) -> str:
        path = self.file(name)
        try:
            if path.stat().st_size > _MOST_TEXT:
                raise AntiphonError(f"{path}: {path.stat().st_size:,} bytes are too many for such a file. Get it anew.")
            return path.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise AntiphonError(f"{path}: damaged: not UTF-8. Get it anew.") from error
        except OSError as error:
            raise AntiphonError(f"{path}: cannot be read ({error.strerror}).") from error

    def table(self, name: str) -> dict[str, Any]:
        """What a JSON file holds."""
        try:
            content = json.loads(self.text(name))
        except (ValueError, RecursionError) as error:
            raise AntiphonError(f"{self.path / name}: damaged: not JSON. Get it anew.") from error
        if not isinstance(content, dict):
            raise AntiphonError(f"{self.path / name}: damaged: not a table of keys. Get it anew.")
        return content

    def weights(self) -> "Weights":
        """Every tensor, from one file or from the several that an index names."""
        if self.has(WEIGHTS):
            return Weights(self.path / WEIGHTS, _tensors(self.file(WEIGHTS)))
        if self.has(INDEX):
            return Weights(self.path / INDEX, self._sharded())
        pickled = next((name for name in _PICKLES if self.has(name)), None)
        if pickled:
            raise AntiphonError(
                f"{self.path / pickled}: pickled, which can run anything, so it is not opened; {WEIGHTS} is missing.\n"
                "If you trust it, convert it where transformers is installed: "
                f"AutoModelForPreTraining.from_pretrained({str(self.path)!r}).save_pretrained('converted')"
            )
        raise AntiphonError(f"{self.path}: no {WEIGHTS} in it. Name a folder that holds a model in safetensors.")

    def _sharded(self) -> dict[str, Tensor]:
        parts = self.table(INDEX).get("weight_map")
        if not isinstance(parts, dict) or not all(isinstance(name, str) for name in parts.values()):
            raise AntiphonError(f"{self.path / INDEX}: damaged: it does not say which file holds what. Get it anew.")
        found: dict[str, Tensor] = {}
        for name in sorted(set(parts.values())):
            held = _tensors(self.file(name))
            wrong = sorted(held.keys() ^ {tensor for tensor, file in parts.items() if file == name})
            if wrong:
                raise AntiphonError(f"{self.path / name}: {INDEX} tells another story of {wrong[0]!r}. Get both anew.")
            found |= held
        return found


def _tensors(path: Path) -> dict[str, Tensor]:
    with path.open("rb") as file:
        head = int.from_bytes(file.read(8), "little")
    if head > _MOST_HEAD:
        raise AntiphonError(f"{path}: damaged: its header claims {head:,} bytes. Get it anew.")
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, ValueError, RuntimeError, MemoryError, LookupError) as error:
        raise AntiphonError(f"{path}: damaged, or no safetensors file. Get it anew.") from error
    return tensors


@dataclass(frozen=True)
class Settings:
    """The keys of a foreign config, each asked for by name; one that nobody asks for is not understood."""

    path: Path | str
    values: Mapping[str, Any]
    asked: set[str] = field(default_factory=set)

    def get(self, key: str, kind: type[T], default: T) -> T:
        """A value of this type; true is no number, and a whole number is one."""
        self.asked.add(key)
        value = self.values.get(key)
        if value is None:
            return default
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise AntiphonError(f"{self.path}: {key} = {_shown(value)} is not what belongs there. Get it anew.")
        return value

    def need(self, key: str, kind: type[T]) -> T:
        if self.values.get(key) is None:
            raise AntiphonError(f"{self.path}: no {key} in it. Get it anew.")
        return self.get(key, kind, self.values[key])

    def must_be(self, key: str, *allowed: object) -> None:
        """Refuse what is not built here; the first that is allowed is what an absent key means."""
        self.asked.add(key)
        value = self.values.get(key, allowed[0])
        if not any(value is one or (value == one and type(value) is type(one)) for one in allowed):
            told = " or ".join(_shown(one) for one in allowed)
            raise AntiphonError(f"{self.path}: {key} = {_shown(value)} is not understood here: only {told} is.")

    def ignore(self, keys: Sequence[str]) -> None:
        """What says nothing of the numbers that the model computes."""
        self.asked.update(keys)

    def refuse_rest(self) -> None:
        unknown = [key for key in self.values if key not in self.asked]
        if unknown:
            told = ", ".join(f"{key[:60]} = {_shown(self.values[key])}" for key in unknown[:5])
            raise AntiphonError(
                f"{self.path}: not understood, so the model may not be what it seems: {told}"
                f"{f' and {len(unknown) - 5} more' if len(unknown) > 5 else ''}. "
                "If a key says nothing of what the model computes, delete it there."
            )


def _shown(value: object) -> str:
    return json.dumps(value)[:60]


@dataclass(frozen=True)
class Weights:
    """Tensors that are taken one by one, each in the shape that it must have; none may be left over."""

    path: Path
    tensors: dict[str, Tensor]

    def __contains__(self, name: str) -> bool:
        return name in self.tensors

    def take(self, name: str, *shape: int) -> Tensor:
        tensor = self.tensors.pop(name, None)
        if tensor is None:
            raise AntiphonError(f"{self.path}: no tensor {name} in it, and the model needs it. Get it anew.")
        if tuple(tensor.shape) != shape:
            found, wanted = (" x ".join(map(str, sizes)) for sizes in (tensor.shape, shape))
            raise AntiphonError(f"{self.path}: {name} is {found or 'one number'}, and {CONFIG} makes it {wanted}.")
        if tensor.dtype not in _NUMBERS:
            kind = str(tensor.dtype).removeprefix("torch.")
            raise AntiphonError(f"{self.path}: {name} holds {kind}, and only float32, float16 and bfloat16 are read.")
        tensor = tensor.float()
        if not bool(tensor.isfinite().all()):
            raise AntiphonError(f"{self.path}: {name} holds numbers that are not finite. Get it anew.")
        return tensor

    def drop(self, name: str) -> bool:
        """Leave out a tensor that the model does without; whether there was one."""
        return self.tensors.pop(name, None) is not None

    def renamed(self, change: Mapping[str, str], prefix: str) -> "Weights":
        """The same without a prefix, and with endings of other times changed for today's."""
        tensors: dict[str, Tensor] = {}
        for name, tensor in self.tensors.items():
            short = name.removeprefix(prefix)
            ending = next((old for old in change if short.endswith(old)), None)
            short = short if ending is None else short.removesuffix(ending) + change[ending]
            if short in tensors:
                raise AntiphonError(f"{self.path}: holds {short} twice, with and without {prefix!r}. Get it anew.")
            tensors[short] = tensor
        return Weights(self.path, tensors)

    def refuse_rest(self) -> None:
        if self.tensors:
            told = ", ".join(sorted(self.tensors)[:10])
            more = f" and {len(self.tensors) - 10} more" if len(self.tensors) > 10 else ""
            raise AntiphonError(f"{self.path}: no part of such a model: {told}{more}. So nothing is imported.")
