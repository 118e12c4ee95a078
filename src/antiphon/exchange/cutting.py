"""Foreign tokenisers: their files become one of ours, and their numbers our numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from antiphon.config.schema import ByteBpe, WordPiece
from antiphon.data.byte_bpe import open_byte_bpe
from antiphon.data.tokenize import Borrowed
from antiphon.data.vocab import END, SPECIAL, UNKNOWN
from antiphon.data.wordpiece import GLUE, open_wordpiece
from antiphon.errors import AntiphonError
from antiphon.exchange.foreign import Folder, Settings

WHOLE, CONFIG, ADDED = "tokenizer.json", "tokenizer_config.json", "added_tokens.json"
_LOOKS = ("type", "trim_offsets", "fuse_unk", "unk_token", "vocab", "merges")


@dataclass(frozen=True)
class Names:
    """What a family calls its special symbols, in the order of ours: the key that may rename each, and its name."""

    special: tuple[tuple[str, str], ...]
    hole: tuple[str, str] | None


ENDED = ("eos_token", "<|endoftext|>")
GPT2 = Names((ENDED, ("bos_token", "<|endoftext|>"), ENDED, ("unk_token", "<|endoftext|>")), None)
BERT = Names(
    (("pad_token", "[PAD]"), ("cls_token", "[CLS]"), ("sep_token", "[SEP]"), ("unk_token", "[UNK]")),
    ("mask_token", "[MASK]"),
)
ROBERTA = Names(
    (("pad_token", "<pad>"), ("cls_token", "<s>"), ("sep_token", "</s>"), ("unk_token", "<unk>")),
    ("mask_token", "<mask>"),
)


@dataclass(frozen=True)
class Adopted:
    """A foreign tokeniser as one of ours."""

    tokenizer: Borrowed
    choice: ByteBpe | WordPiece
    rows: list[int]  # of each of our symbols its number there
    doubles: list[int]  # special symbols that have none there, and stand on the row of the end


def adopt(folder: Folder, kind: Literal["byte_bpe", "wordpiece"], names: Names, size: int) -> Adopted:
    """The tokeniser of a foreign folder, whose model has vectors for `size` symbols."""
    told = Settings(folder.path / CONFIG, folder.table(CONFIG) if folder.has(CONFIG) else {})
    cut = _byte_bpe(folder, told) if kind == "byte_bpe" else _wordpiece(folder, told)
    numbers: Mapping[str, int] = cut.pop("numbers")
    if len(set(numbers.values())) != len(numbers) or not all(0 <= number < size for number in numbers.values()):
        raise AntiphonError(f"{folder.path}: its symbols are not numbered each by itself from 0 to {size - 1}.")
    special = [_number(folder, told, numbers, key, name) for key, name in names.special]
    learnt = sorted((number, symbol) for symbol, number in numbers.items() if number not in special)
    hole = SPECIAL[UNKNOWN]
    if names.hole is not None:
        hidden = _number(folder, told, numbers, *names.hole)
        hole = next(symbol for symbol, number in numbers.items() if number == hidden)
    content = cut | {"symbols": [symbol for _, symbol in learnt], "hole": hole, "wide_hole": _takes_space(folder, hole)}
    try:
        tokenizer = open_byte_bpe(content) if kind == "byte_bpe" else open_wordpiece(content)
    except ValueError as error:
        raise AntiphonError(f"{folder.path}: its tokeniser is not one that can be read here: {error}.") from error
    doubles = [ours for ours, number in enumerate(special) if ours != END and number == special[END]]
    choice = ByteBpe() if kind == "byte_bpe" else WordPiece()
    return Adopted(tokenizer, choice, special + [number for number, _ in learnt], doubles)


def _number(folder: Folder, told: Settings, numbers: Mapping[str, int], key: str, name: str) -> int:
    """The number of a special symbol, by the name that the folder gives it, or its family."""
    given = told.values.get(key)
    given = given.get("content") if isinstance(given, dict) else given
    name = given if isinstance(given, str) else name
    if name not in numbers:
        raise AntiphonError(f"{folder.path}: its vocabulary has no {name!r}, which is its {key}. Get it anew.")
    return numbers[name]


def _takes_space(folder: Folder, hole: str) -> bool:
    """Whether the space before a hole belongs to it, as in RoBERTa's own texts, unless the folder says otherwise."""
    added = folder.table(WHOLE).get("added_tokens") or [] if folder.has(WHOLE) else []
    told = next((one for one in added if one.get("content") == hole), {"lstrip": True})
    return told.get("lstrip") is True


def _byte_bpe(folder: Folder, told: Settings) -> dict[str, Any]:
    """What the file of our tokeniser holds, but for the symbols, and the numbers of these."""
    if not folder.has(WHOLE):
        lines = folder.text("merges.txt").splitlines()
        merges = [line for line in lines[lines[:1] != [] and lines[0].startswith("#version") :] if line.strip()]
        numbers = _numbers(folder.table("vocab.json"), folder.path / "vocab.json")
        numbers |= _numbers(folder.table(ADDED), folder.path / ADDED) if folder.has(ADDED) else {}
        return {"numbers": numbers, "merges": merges, "prefix_space": told.get("add_prefix_space", bool, False)}
    whole, path = folder.table(WHOLE), folder.path / WHOLE
    Settings(path, whole).must_be("normalizer", None)
    model = _part(whole, "model", "BPE", path)
    model.must_be("dropout", None)
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        model.must_be(key, "", None)
    for key in ("byte_fallback", "ignore_merges"):
        model.must_be(key, False)
    stretches = _part(whole, "pre_tokenizer", "ByteLevel", path)
    stretches.must_be("use_regex", True)
    prefix_space = stretches.get("add_prefix_space", bool, True)
    for part in (model, stretches):
        part.ignore(_LOOKS)
        part.refuse_rest()
    _refuse_disagreement(told, "add_prefix_space", prefix_space)
    merges = model.need("merges", list)
    if not all(isinstance(merge, str) or _is_pair(merge) for merge in merges):
        raise AntiphonError(f"{path}: damaged: its merges are not pairs. Get it anew.")
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
    return {"numbers": _all_numbers(whole, model, path), "merges": merges, "prefix_space": prefix_space}


def _is_pair(merge: object) -> bool:
    return isinstance(merge, list) and len(merge) == 2 and all(isinstance(half, str) for half in merge)


def _wordpiece(folder: Folder, told: Settings) -> dict[str, Any]:
    if not folder.has(WHOLE):
        if told.values.get("do_lower_case") is None:
            raise AntiphonError(
                f'{folder.path}: no {WHOLE}, and no {CONFIG} that says {{"do_lower_case": true}} or false, '
                "so nobody knows how its words are written. Get it anew, or add the file."
            )
        text = folder.text("vocab.txt").replace("\r\n", "\n")
        numbers = {symbol: number for number, symbol in enumerate(text.removesuffix("\n").split("\n"))}
        lower = told.get("do_lower_case", bool, True)
        strip, part = told.get("strip_accents", bool, lower), told.get("tokenize_chinese_chars", bool, True)
        return {"numbers": numbers, "lower": lower, "strip_accents": strip, "part_ideographs": part}
    whole, path = folder.table(WHOLE), folder.path / WHOLE
    model = _part(whole, "model", "WordPiece", path)
    model.must_be("continuing_subword_prefix", GLUE)
    model.must_be("max_input_chars_per_word", 100)
    letters = _part(whole, "normalizer", "BertNormalizer", path)
    letters.must_be("clean_text", True)
    lower = letters.need("lowercase", bool)
    strip, part = letters.get("strip_accents", bool, lower), letters.get("handle_chinese_chars", bool, True)
    for section in (model, letters, _part(whole, "pre_tokenizer", "BertPreTokenizer", path)):
        section.ignore(_LOOKS)
        section.refuse_rest()
    _refuse_disagreement(told, "do_lower_case", lower)
    _refuse_disagreement(told, "strip_accents", strip)
    _refuse_disagreement(told, "tokenize_chinese_chars", part)
    numbers = _all_numbers(whole, model, path)
    return {"numbers": numbers, "lower": lower, "strip_accents": strip, "part_ideographs": part}


def _part(whole: Mapping[str, Any], key: str, kind: str, path: object) -> Settings:
    """One part of a tokeniser, of the only kind that is read here."""
    values = whole.get(key)
    if not isinstance(values, dict) or values.get("type") != kind:
        found = values.get("type") if isinstance(values, dict) else values
        raise AntiphonError(f"{path}: {key} is {str(found)[:40]!r}, and here only {kind!r} is understood.")
    return Settings(f"{path}: {key}", values)


def _refuse_disagreement(told: Settings, key: str, value: bool) -> None:
    other = told.get(key, bool, value)
    if other != value:
        raise AntiphonError(f"{told.path}: {key} = {str(other).lower()}, and {WHOLE} says otherwise. Mend one of them.")


def _all_numbers(whole: Mapping[str, Any], model: Settings, path: object) -> dict[str, int]:
    """Of the learnt symbols, and of those that somebody added."""
    added = whole.get("added_tokens") or []
    if not isinstance(added, Sequence) or not all(isinstance(one, dict) for one in added):
        raise AntiphonError(f"{path}: damaged: its added symbols are none. Get it anew.")
    more = {str(one.get("content")): one.get("id") for one in added}
    return _numbers(model.need("vocab", dict), path) | _numbers(more, path)


def _numbers(values: Mapping[str, Any], path: object) -> dict[str, int]:
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in values.values()):
        raise AntiphonError(f"{path}: damaged: not every symbol has a number. Get it anew.")
    return dict(values)
