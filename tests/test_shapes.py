"""No name lies about its shape: in training, in search, in any part of any model."""

import ast
import re
import sys
from pathlib import Path

import pytest
import torch

from antiphon.attend.looks import Looks
from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.batch import load_batch, make_batch, plan
from antiphon.data.running import RunningText, load_windows, plan_counting, plan_tracks, plan_windows
from antiphon.data.store import PairStore
from antiphon.data.vocab import END, PAD, START, UNKNOWN
from antiphon.models.writing import LanguageModel
from antiphon.search.beam import Beam, beam_search
from antiphon.search.sample import Sampling, sample
from antiphon.training.learner import Learner
from tests.laws.combinations import COVERING, PROMPTED, WRITING, name
from tests.shapes import SRC, SUFFIX, watched

# Different from each other and from every width of the models, so that two axes cannot be mistaken for one another.
SOURCES = [[4] * 16, [5] * 2, [6] * 9]
TARGETS = [[4] * 12, [7] * 28, [8]]
WORDS, ANSWERS = 41, 37

NOISY = schema.Train.model_validate(
    {
        "ema": 0.9,
        "teacher_forcing": {"p": 0.5, "own": "sampled"},
        "word_dropout": 0.1,
        "r_drop": 1.0,
        "corruption": {"swap": 0.2, "replace": 0.2, "drop": 0.2},
    }
)

# The batch of a search shrinks with every sentence that is done, and with it what B and N stand for.
SEARCHES = ("beam_search", "sample", "_close_ranks")


def a_model(choice: schema.Model):
    tables = choice.model_dump()
    for half in choice.halves:
        if tables[half].get("positions") == "learned":
            tables[half]["max_positions"] = 80
    torch.manual_seed(1)
    size = ANSWERS if choice.tie == "all" else WORDS
    return build_model(type(choice).model_validate(tables), size, ANSWERS)


@pytest.mark.parametrize("choice", [*COVERING[::6], *WRITING[::6], *PROMPTED[::4]], ids=name)
def test_the_names_in_some_models_are_true(choice):
    watch_a_model(choice)


@pytest.mark.slow
@pytest.mark.parametrize("choice", [*COVERING, *WRITING, *PROMPTED], ids=name)
def test_the_names_in_every_model_are_true(choice):
    watch_a_model(choice)


def watch_a_model(choice: schema.Model) -> None:
    model, batch = a_model(choice), make_batch(SOURCES, TARGETS)
    with watched(loose=SEARCHES) as watch:
        Learner(model, NOISY, 1).learn([batch], 0, 0)
        model.eval()
        with torch.inference_mode():
            model(batch, Looks())
            if isinstance(model, LanguageModel) and not model.pairs:
                model.step(
                    torch.tensor([START, START]),
                    model.after(torch.tensor([[START, 4, 5], [START, 6, 7]]), torch.tensor([8, 9])),
                )
            limits = [7, 11, 5]
            prompted = isinstance(model, LanguageModel) and model.pairs  # its sources are equally long in a search
            begun = make_batch([source[:1] * 16 for source in SOURCES], TARGETS) if prompted else batch
            state = model.start(begun.source_BS, begun.mask_BS)
            beam_search(model, state, limits, Beam(3, 2, 1.0), START, END, [PAD, START, UNKNOWN])
            sample(model, state, limits, Sampling(1.0, 6, 0.9), [1, 2, 3], START, END, [PAD, START, UNKNOWN], 4)
    assert len(watch.names) > 40


def test_the_names_in_the_data_are_true():
    store = PairStore.of(list(zip(SOURCES, TARGETS, strict=True)) * 5)
    with watched() as watch:
        for indices in plan(store.lengths, 60, 1, 0):
            load_batch(store, indices)
    assert len(watch.names) > 5


def test_the_names_in_a_running_text_are_true():
    text = RunningText(PairStore.of([([], target) for target in TARGETS] * 5))
    plans = plan_tracks(len(text), 7, 60), plan_windows(len(text), 7, 60, 1, 0)
    with watched() as watch:
        for windows in [*plans[0], *plans[1], *plan_counting(len(text), 7, 300, recurrent=True)]:
            load_windows(text, windows)
    assert len(watch.names) > 5


def legend(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda path: path.relative_to(SRC).as_posix())
def test_every_letter_stands_in_the_legend_of_its_file(path):
    used = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        word = node.arg if isinstance(node, ast.arg) else node.id if isinstance(node, ast.Name) else ""
        found = SUFFIX.search(word)
        if found and word != word.upper():
            used |= {letter for letter in found[1] if letter.isalpha()}
    missing = {letter for letter in used if not re.search(rf"\b{letter}\b", legend(path))}
    assert not missing, f"{path.name}: {', '.join(sorted(missing))} not in its opening lines"


def lies_in(tmp_path: Path, code: str, loose=()) -> str:
    """What the watch says of this code."""
    (tmp_path / "code.py").write_text(code)
    space = {"torch": torch}
    with pytest.raises(AssertionError) as caught, watched(tmp_path, loose):
        exec(compile(code, str(tmp_path / "code.py"), "exec"), space)  # noqa: S102 (our own few lines)
        space["work"]()
    return str(caught.value)


def test_a_wrong_number_of_axes_is_a_lie(tmp_path):
    code = "def work():\n    scores_BT = torch.zeros(2, 3, 4)\n"
    assert lies_in(tmp_path, code) == "names that lie:\ncode.py: work: scores_BT has 3 axes, (2, 3, 4)"


def test_one_letter_with_two_sizes_is_a_lie(tmp_path):
    code = "def work():\n    a_BT = torch.zeros(2, 3)\n    b_TB = torch.zeros(2, 3)\n    return a_BT\n"
    assert lies_in(tmp_path, code) == (
        "names that lie:\n"
        "code.py: work: B is 2 in a_BT, but 3 in b_TB (2, 3)\ncode.py: work: T is 3 in a_BT, but 2 in b_TB (2, 3)"
    )


def test_a_figure_is_its_size(tmp_path):
    code = "def work():\n    pairs_N2 = torch.zeros(2, 3)\n"
    assert lies_in(tmp_path, code) == "names that lie:\ncode.py: work: 2 is 2 in pairs_N2, but 3 in pairs_N2 (2, 3)"


def test_a_name_that_is_given_anew_is_looked_at_anew(tmp_path):
    code = "def work():\n    x_B = torch.zeros(2)\n    x_B = torch.zeros(3)\n    x_B = torch.zeros(2)\n"
    assert "B is 2 in x_B, but 3 in x_B (3,)" in lies_in(tmp_path, code)


def test_the_trace_is_put_back():
    before = sys.gettrace()
    with watched():
        pass
    assert sys.gettrace() is before
