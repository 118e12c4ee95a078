"""`antiphon show`: a picture in the terminal, as a page, as a drawing."""

import io

import pytest
from rich.console import Console

from antiphon.commands import show


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
    assert ended.code == 1
    assert ended.err.startswith(
        f"antiphon: {tmp_path / 'none' / 'x.svg'}: cannot be written: No such file or directory."
    )


def test_an_empty_text(trained, antiphon):
    assert antiphon("show", trained, "").code == 0


@pytest.mark.parametrize("no_color", [False, True])
def test_colour_is_for_those_who_want_it(trained, monkeypatch, no_color):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system="256", no_color=no_color, width=80)
    monkeypatch.setattr(show, "terminal", lambda: console)
    show.run_show(trained, "six five", None)
    assert ("\x1b[" in file.getvalue()) is not no_color
