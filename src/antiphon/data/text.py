"""Text before it becomes symbols: one normal form for every room, and a number that stands for a text."""

import hashlib
import re
import unicodedata

LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str) -> str:
    """Unicode NFC, runs of whitespace as one space, none at the ends; half a surrogate pair becomes U+FFFD."""
    # Most text is plain ASCII, which is in NFC and holds no surrogates.
    if not text.isascii():
        text = unicodedata.normalize("NFC", LONE_SURROGATE.sub("\ufffd", text))
    return " ".join(text.split())


def hash_text(text: str) -> int:
    """64 bits that are the same on every machine and in every year."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
