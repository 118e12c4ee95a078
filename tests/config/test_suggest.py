import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.config.keys import all_tables, kind_of
from antiphon.config.suggest import distance, edits, nearest, no_such, shown
from antiphon.config.toml import load_run
from antiphon.errors import AntiphonError

LETTERS = string.ascii_lowercase + string.digits + "_"


def typos(word):
    """Every word that is one slip of the hand away."""
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    deleted = {a + b[1:] for a, b in cuts if b}
    inserted = {a + letter + b for a, b in cuts for letter in LETTERS}
    replaced = {a + letter + b[1:] for a, b in cuts if b for letter in LETTERS}
    swapped = {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    return sorted((deleted | inserted | replaced | swapped) - {word})


def every_typo():
    """(address of a table, table, right key, wrong key), but for wrong keys that happen to be right."""
    for address, table in all_tables():
        for key in table.model_fields:
            for wrong in typos(key):
                if wrong not in table.model_fields:
                    yield address, table, key, wrong


def suggestions(address, table, wrong):
    """What the user is told who wrote `wrong` in this table of a run file."""
    tables = {wrong: 1} if kind_of(table) is None else {"kind": kind_of(table), wrong: 1}
    for name in reversed(address.split(".") if address else []):
        tables = {name: tables}
    tables.setdefault("data", {}).setdefault("train", "pairs.tsv")
    with pytest.raises(AntiphonError) as caught:
        load_run(None, None, tables, [])
    question = re.search(r"Did you mean (.*?)\?", str(caught.value).splitlines()[0])
    return re.findall(r'"(.*?)"', question[1]) if question else []


def share_of_right_suggestions(cases):
    alone = among = 0
    for address, table, key, wrong in cases:
        found = suggestions(address, table, wrong)
        alone += found == [key]
        among += key in found
    return alone / len(cases), among / len(cases)


def test_one_slip_gets_the_right_key_in_a_sample():
    alone, among = share_of_right_suggestions(list(every_typo())[::67])
    assert alone >= 0.99
    assert among >= 0.995


@pytest.mark.slow
def test_one_slip_gets_the_right_key_in_a_large_sample():
    alone, among = share_of_right_suggestions(list(every_typo())[::7])
    assert alone >= 0.99
    assert among >= 0.999


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [("", "", 0), ("", "abc", 3), ("beam", "beam", 0), ("baem", "beam", 1), ("bem", "beam", 1), ("beams", "beam", 1),
     ("bean", "beam", 1), ("kitten", "sitting", 3), ("ca", "abc", 3)],
)  # fmt: skip
def test_edits_by_hand(first, second, count):
    assert edits(first, second) == count


WORDS = st.text("abc", max_size=6)


@given(WORDS, WORDS)
def test_edits_are_a_distance(first, second):
    assert edits(first, second) == edits(second, first)
    assert (edits(first, second) == 0) == (first == second)
    assert abs(len(first) - len(second)) <= edits(first, second) <= max(len(first), len(second))


def test_case_and_hyphens_are_no_difference():
    assert distance("Max-Steps", "max_steps") == 0


def test_nearest_gives_equals_and_nothing_far():
    assert nearest("top_x", ["top_k", "top_p", "beam"]) == ["top_k", "top_p"]
    assert nearest("num_layers", ["layers", "heads"]) == ["layers"]
    assert nearest("batch_size", ["batch_tokens", "clip"]) == ["batch_tokens"]
    assert nearest("zebra", ["top_k", "beam"]) == []
    assert nearest("a" * 100_000, ["top_k", "beam"]) == []


def test_no_such_says_what_there_is():
    assert no_such("pet", "dgo", ["cat", "dog"]) == "no such pet as 'dgo'. Did you mean \"dog\"? Known: cat, dog"
    assert no_such("pet", 3, ["cat", "dog"]) == "no such pet as 3. Known: cat, dog"


def test_values_are_shown_short_and_printable():
    assert shown(True) == "true"
    assert shown("a\nb\udce9") == r"'a\nb\udce9'"
    assert shown("x" * 100) == f"'{'x' * 57}...'"
    assert shown(10**100) == f"1{'0' * 56}..."
    assert shown({"a": 1}) == "a table"
    assert shown([1, "a"]) == "[1, 'a']"
    assert shown(list(range(100))) == "a long list"
