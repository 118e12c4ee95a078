"""Holes in texts: what an encoder-decoder learns from when there are texts and no pairs.

n symbols of a text, h of them hidden · R rows
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from antiphon.config.schema import Denoise
from antiphon.data.unmerge import Keys, mix, uniform
from antiphon.data.vocab import HOLE

Ids = NDArray[np.int64]
Key = np.uint64
_HIDDEN, _HOLES, _LENGTHS, _GAPS = (np.uint64(number) for number in range(1, 5))  # what a draw of one text is for


def dig_all(texts: Sequence[NDArray[Any]], choice: Denoise, keys_R: Keys) -> tuple[list[Ids], list[Ids]]:
    """Sources with holes, and their targets."""
    pairs = [dig(np.asarray(text, dtype=np.int64), choice, key) for text, key in zip(texts, keys_R, strict=True)]
    return [source for source, _ in pairs], [target for _, target in pairs]


def dig(text_n: Ids, choice: Denoise, key: Key) -> tuple[Ids, Ids]:
    """The text with a hole for each hidden span; and itself (text infilling, Lewis et al., 2020), or what was hidden,
    a hole before each span (span corruption, Raffel et al., 2020).

    A hole is one symbol, however much it hides. A text of nothing stays so.
    """
    if not len(text_n):
        return text_n, text_n
    begins, lengths = spans(len(text_n), choice, key)
    hidden_n = np.zeros(len(text_n), dtype=bool)
    for begin, length in zip(begins, lengths, strict=True):
        hidden_n[begin : begin + length] = True
    source, left_n = text_n.copy(), ~hidden_n
    source[begins], left_n[begins] = HOLE, True
    if choice.target == "whole":
        return source[left_n], text_n
    return source[left_n], np.insert(text_n[hidden_n], np.cumsum(lengths) - lengths, HOLE)


def spans(symbols: int, choice: Denoise, key: Key) -> tuple[Ids, Ids]:
    """Where spans begin, and their lengths: no two touch, and at least one symbol is hidden and one left, of several.

    The share of hidden symbols is exact but for rounding, which is drawn so that it is right on average. They are cut
    into spans in one of all possible ways, so that lengths are geometric, and these are put between the symbols that
    stay, at different places.
    """
    up, more = uniform(mix(key ^ np.array([_HIDDEN, _HOLES])))
    hidden = min(max(1, int(choice.rate * symbols + up)), max(1, symbols - 1))
    holes = min(max(1, int(hidden / choice.mean_length + more)), hidden, max(1, symbols - hidden))
    cuts = _some(hidden - 1, holes - 1, key ^ _LENGTHS) + 1
    lengths = np.diff(np.concatenate([[0], cuts, [hidden]]))
    gaps = _some(symbols - hidden + 1, holes, key ^ _GAPS)
    return gaps + np.cumsum(lengths) - lengths, lengths


def _some(among: int, count: int, key: Key) -> Ids:
    """So many of the numbers from 0 on, each set of them as likely as any other, in order."""
    ranks = mix(mix(np.array([key])) ^ np.arange(among, dtype=np.uint64))
    return np.sort(np.argsort(ranks, kind="stable")[:count])
