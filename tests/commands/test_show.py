"""`antiphon show`: a picture in the terminal, as a page, as a drawing."""

import io
import json

import pytest
from rich.console import Console

from antiphon.commands import show
from antiphon.commands.systems import Folders


def test_the_answer_and_a_picture(trained, antiphon):
    ended = antiphon("show", trained, "six five")
    assert ended.code == 0
    assert ended.out.startswith("fünf sechs\n")
    assert ended.out.count("fünf sechs") == 1
    assert "█" in ended.out


@pytest.mark.parametrize(("name", "start"), [("x.html", "<!DOCTYPE html>"), ("x.svg", "<svg")])
def test_a_file_of_it(trained, antiphon, tmp_path, name, start):
    ended = antiphon("show", trained, "six <b>five</b> & co", "--out", tmp_path / name)
    assert ended.out.endswith(f"Written: {tmp_path / name}\n")
    content = (tmp_path / name).read_text(encoding="utf-8")
    assert content.lstrip().lower().startswith(start.lower())
    assert "<b>five</b>" not in content


def test_another_ending_is_refused_before_any_work(antiphon, tmp_path):
    ended = antiphon("show", tmp_path / "no model", "six", "--out", "x.pdf")
    assert (ended.code, ended.err) == (
        2, "antiphon: --out x.pdf: cannot tell what to write. End it in .html or .svg.\n",
    )  # fmt: skip


def test_nowhere_to_write(trained, antiphon, tmp_path):
    ended = antiphon("show", trained, "six", "--out", tmp_path / "none" / "x.svg")
    assert (ended.code, ended.err) == (
        2,
        f"antiphon: --out {tmp_path / 'none' / 'x.svg'}: there is no folder {tmp_path / 'none'}. Make it, or name "
        "another.\n",
    )


def test_an_empty_text(trained, antiphon):
    assert antiphon("show", trained, "").code == 0


@pytest.mark.parametrize("no_color", [False, True])
def test_colour_is_for_those_who_want_it(trained, monkeypatch, no_color):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system="256", no_color=no_color, width=80)
    monkeypatch.setattr(show, "terminal", lambda: console)
    show.run_show(Folders(trained), "six five", None, False, False)
    assert ("\x1b[" in file.getvalue()) is not no_color


def test_the_attention_as_numbers(trained, antiphon, tmp_path):
    ended = antiphon("show", trained, "six five", "--json", "--out", tmp_path / "x.svg")
    content = json.loads(ended.out)
    assert (content["text"], content["answer"]) == ("six five", "fünf sechs")
    assert (content["source"], content["target"]) == (["six", "five", "</s>"], ["fünf", "sechs", "</s>"])
    assert [sum(row) for row in content["weights"]] == pytest.approx([1, 1, 1], abs=1e-5)
    assert (tmp_path / "x.svg").exists()
    assert content["alignment"]["source"] == ["six", "five"]
    assert {link["target"] for link in content["alignment"]["links"]} == {0, 1}
    heads = content["symbols"]["cross"]
    assert (heads["rows"], heads["columns"]) == (content["target"], content["source"])
    assert heads["weights"] == [[content["weights"]]] == content["words"]["cross"]["weights"]
    assert set(content) == {"text", "answer", "source", "target", "weights", "alignment", "symbols", "words"}


def test_a_head_can_be_chosen(trained, antiphon, tmp_path):
    ended = antiphon(
        "show", trained, "six five", "--of", "cross", "--layer", 1, "--head", 1, "--out", tmp_path / "x.svg"
    )
    assert ended.out.startswith("fünf sechs  (cross, layer 1, head 1)\n")
    assert 'class="ribbon"' not in (tmp_path / "x.svg").read_text(encoding="utf-8")
    antiphon("show", trained, "six five", "--out", tmp_path / "x.svg")
    assert 'class="ribbon"' in (tmp_path / "x.svg").read_text(encoding="utf-8")


def test_a_head_that_is_not_there(trained, antiphon):
    ended = antiphon("show", trained, "six five", "--head", 2)
    assert (ended.code, ended.out, ended.err) == (
        2, "",
        "antiphon: --head 2: no such head in this model's cross attention. Give 1, the only one.\n",
    )  # fmt: skip


def test_gradients_have_no_heads(antiphon, tmp_path):
    ended = antiphon("show", tmp_path / "no model", "six", "--gradients", "--layer", 0)
    assert (ended.code, ended.err) == (
        2, "antiphon: --layer: chooses among heads of attention. Leave it out, or --gradients.\n",
    )  # fmt: skip


def test_a_text_that_is_not_utf8(antiphon, tmp_path):
    ended = antiphon("show", tmp_path / "no model", "caf\udce9")
    assert (ended.code, ended.err) == (2, "antiphon: show: the text is not UTF-8. Give it in UTF-8.\n")


def test_json_has_all_heads_already(antiphon, tmp_path):
    ended = antiphon("show", tmp_path / "no model", "six", "--json", "--head", 1, "--out", tmp_path / "page.html")
    assert (ended.code, ended.err) == (
        2, "antiphon: --head: --json gives every layer and head. Leave one of the two out.\n",
    )  # fmt: skip


def test_how_far_gradients_reach(trained, antiphon):
    ended = antiphon("show", "--gradients", trained, "six five four three")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("chain ")
    assert max(map(len, ended.out.splitlines())) <= 80
    assert "encoder 1 →" in ended.out
    assert "decoder 1" in ended.out


@pytest.mark.parametrize(("name", "start"), [("x.html", "<!doctype html>"), ("x.svg", "<svg")])
def test_a_file_of_gradients(trained, antiphon, tmp_path, name, start):
    ended = antiphon("show", trained, "six <b>five</b>", "--gradients", "--out", tmp_path / name)
    assert ended.out.endswith(f"Written: {tmp_path / name}\n")
    content = (tmp_path / name).read_text(encoding="utf-8")
    assert content.startswith(start)
    assert "<b>five</b>" not in content


def test_gradients_as_numbers(trained, antiphon):
    ended = antiphon("show", "--gradients", "--json", trained, "six five")
    content = json.loads(ended.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert content["answer"] == "fünf sechs"
    first = content["chains"][0]
    assert first["symbols"] == ["six", "five", "</s>"]
    assert len(first["log10_norms"]) == 3
    assert first["log10_norms"][-1] == 0
    assert set(first) == {
        "name", "cell", "part", "symbols", "log10_norms", "factor", "steps_to_half", "steps_to_double", "verdict", "matrices",
        "forecast",
    }  # fmt: skip


def test_gradients_of_an_empty_text(trained, antiphon):
    ended = antiphon("show", "--gradients", trained, "")
    assert (ended.code, ended.out, ended.err) == (
        2, "", "antiphon: gradients: the text is empty, and nothing passes through it. Give at least one symbol.\n",
    )  # fmt: skip


def test_a_bar_for_those_who_wait(trained, monkeypatch):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80)
    monkeypatch.setattr(show, "terminal", lambda: console)
    show.run_show(Folders(trained), "six five", None, True, False)
    assert "steps back" in file.getvalue()


@pytest.mark.parametrize(("given", "beam"), [((), 5), ((2,), 2)])
def test_the_tree_of_a_beam_search(trained, antiphon, tmp_path, given, beam):
    ended = antiphon("show", trained, "six five", "--beam", *given, "--out", tmp_path / "x.html")
    assert ended.out.startswith(f"fünf sechs\nA beam of {beam} weighed ")
    assert "★" in ended.out
    assert "fünf sechs" in (tmp_path / "x.html").read_text(encoding="utf-8")


def test_the_tree_as_numbers_ends_in_the_answer_of_predict(trained, antiphon, tmp_path):
    content = json.loads(antiphon("show", trained, "six five", "--beam", "3", "--json").out)
    answer = json.loads(antiphon("predict", trained, "--beam", "3", "--json", stdin=b"six five\n").out)["answers"][0]
    won = [node for node in content["nodes"] if node["won"]]
    assert [node["symbol"] for node in won[1:-1]] == answer["symbols"]
    assert (won[-1]["score"], won[-1]["total"]) == (answer["score"], answer["log_probability"])
    assert [node["log_probability"] for node in won[1:]] == pytest.approx(answer["log_probabilities"])


@pytest.mark.parametrize(
    "flags",
    [
        ("--length-exponent", "0.3"), ("--length-penalty", "gnmt"), ("--coverage", "0.3"), ("--no-repeat", "1"),
        ("--max-repeats", "1"), ("--prefix", "sechs"), ("--contain", "drei zwei"), ("--avoid", "fünf"), ("--contain", "zwei", "--contain", "eins"),
        ("--glossary", "{glossary}"), ("--answers", "{answers}"), ("--max-length", "2"), ("--mbr", "chrf"),
        ("--groups", "3", "--n-best", "3"), ("--groups", "2", "--diversity", "4", "--n-best", "4"), ("--n-best", "5"),
        ("--with", "{model}", "--no-repeat", "2"), ("--reverse", "{model}", "--reverse-weight", "0"),
        ("--prefix", "drei", "--avoid", "fünf", "--n-best", "2", "--length-exponent", "2"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_the_tree_of_a_search_that_is_held_to_something_ends_in_what_predict_gives(trained, antiphon, tmp_path, flags):
    (tmp_path / "glossary.tsv").write_text("five\teins zwei\n", encoding="utf-8")
    (tmp_path / "answers.txt").write_text("eins zwei\nsechs\nfünf fünf\n", encoding="utf-8")
    files = {"glossary": tmp_path / "glossary.tsv", "answers": tmp_path / "answers.txt", "model": trained}
    flags = [flag.format(**files) for flag in flags]
    text = "six five six five"
    tree = json.loads(antiphon("show", trained, text, "--beam", *flags, "--json").out)
    answers = json.loads(antiphon("predict", trained, *flags, "--json", stdin=text.encode()).out)["answers"]
    assert tree["answer"] == answers[0]["text"]
    nodes = tree["nodes"]
    given = sorted((node for node in nodes if node["given"]), key=lambda node: node["given"])
    assert len(given) == len(answers)
    for node, answer in zip(given, answers, strict=True):
        assert node["total"] == pytest.approx(answer["log_probability"])
        assert (node["fate"] == "finished") == answer["ended"]
        assert _written(nodes, node) == answer["symbols"] + ["</s>"] * answer["ended"]
        assert node["won"] == (node["given"] == 1)


def _written(nodes, node):
    symbols = []
    while node["parent"] >= 0:
        symbols.append(node["symbol"])
        node = nodes[node["parent"]]
    return symbols[::-1]


def test_what_shaped_a_tree_is_told(trained, antiphon, tmp_path):
    page = tmp_path / "x.html"
    flags = ("--prefix", "sechs", "--groups", "2", "--with", trained, "--out", page)
    ended = antiphon("show", trained, "six five", "--beam", "4", *flags)
    assert ended.out.split("\n")[0].startswith("sechs")
    assert "A beam of 4 in 2 groups weighed" in ended.out
    assert 'It was held to prefix = "sechs".' in " ".join(ended.out.split())
    assert "Model: run with run" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", "six", "<script>alert(1)</script>"])
def test_any_text_has_a_tree(trained, antiphon, tmp_path, text):
    for name in ("x.html", "x.svg"):
        assert antiphon("show", trained, text, "--beam", "--out", tmp_path / name).code == 0
        assert "<script>" not in (tmp_path / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--beam", "--gradients"), "--beam and --gradients: two pictures. Ask for one at a time."),
        (("--beam", "--layer", "1"), "--layer: chooses among heads of attention. Leave it out, or --beam."),
        (("--beam", "0"), "search.beam: 0"),
        (("--prefix", "sechs"), "--prefix: it shapes the tree of a search. Add --beam after TEXT, or leave it out.\n"),
        (("--int8",), "--int8: it shapes the tree of a search. Add --beam after TEXT, or leave it out.\n"),
        (
            ("--beam", "--diversity", "1"),
            "search.diversity: one group differs from no other, so it means nothing. Raise groups.\n",
        ),
        (("--beam", "--sample"), "Unknown option: --sample.\nSee: antiphon show --help\n"),
        (
            ("--beam", "3", "--groups", "2"),
            "search: beam 3 cannot be divided into 2 groups of the same size: change one",
        ),
        (
            ("--beam", "--contain", "x y z"),
            "the text: search.contain: 'x y z': this model cannot write x y z: never seen in training. "
            "Spell it otherwise, or leave it out.\n",
        ),
        (
            ("--beam", "--keep", "six"),
            "the text: search.keep: 'six': this model cannot write six: never seen in training. "
            "Spell it otherwise, or leave it out.\n",
        ),
        (("--beam", "--glossary", "none.tsv"), "none.tsv: cannot be read: No such file or directory.\n"),
    ],
)
def test_a_tree_that_cannot_be_drawn(trained, antiphon, flags, said):
    ended = antiphon("show", trained, "six", *flags)
    assert ended.code == 2
    assert ended.err.startswith(f"antiphon: {said}")
