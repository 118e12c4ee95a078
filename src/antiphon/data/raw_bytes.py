"""Bytes as they are: any text in 256 symbols."""

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.data.text import normalise
from antiphon.data.vocab import HOLE, SILENT, SPECIAL, UNKNOWN, to_json
from antiphon.data.words import show_byte


@dataclass(frozen=True)
class ByteTokenizer:
    """One number a UTF-8 byte: 4 to 259."""

    file_ending = "json"
    hole = HOLE
    size = len(SPECIAL) + 256

    def encode(self, text: str) -> list[int]:
        return [byte + len(SPECIAL) for byte in normalise(text).encode()]

    def decode(self, ids: Sequence[int]) -> str:
        spoken = [i for i in ids if i not in SILENT]
        parts = [SPECIAL[i].encode() if i == UNKNOWN else bytes([i - len(SPECIAL)]) for i in spoken]
        return normalise(b"".join(parts).decode(errors="replace"))

    def spellings(self) -> list[bytes]:
        spelt = [bytes([byte]) for byte in range(256)]
        return [b""] * UNKNOWN + [SPECIAL[UNKNOWN].encode(), *(b" " if byte.isspace() else byte for byte in spelt)]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [SPECIAL[i] if i < len(SPECIAL) else show_byte(i - len(SPECIAL)) for i in ids]

    def words(self, ids: Sequence[int]) -> None:
        return None

    def unknown(self, text: str) -> list[str]:
        return []

    def splits(self) -> None:
        return None

    def to_bytes(self) -> bytes:
        return to_json({"kind": "bytes"})
