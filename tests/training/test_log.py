"""What a run tells people and machines."""

import io

import pytest
from rich.console import Console

from antiphon.errors import DiskError
from antiphon.training.log import Log, clip, duration, gradient, read_log

FELT = {"gradient_norm": 0.84, "clipped": 0.3}


def a_console(terminal=False):
    return Console(file=io.StringIO(), force_terminal=terminal, width=60)


def test_entries_are_lines_of_json(tmp_path):
    log = Log(tmp_path / "log.jsonl", None)
    log.record({"step": 1, "text": "fünf"})
    log.record({"step": 2})
    assert (tmp_path / "log.jsonl").read_text(encoding="utf-8") == '{"step": 1, "text": "fünf"}\n{"step": 2}\n'


def test_a_cut_line_and_rubbish_are_left_out(tmp_path):
    (tmp_path / "log.jsonl").write_bytes(b'{"step": 1}\n\xff\xfe\n[3]\n{"step": 2}\n{"st')
    assert read_log(tmp_path / "log.jsonl") == [{"step": 1}, {"step": 2}]


def test_what_will_be_written_again_is_forgotten(tmp_path):
    log = Log(tmp_path / "log.jsonl", None)
    log.forget_after(3)  # there is none yet
    for step in range(1, 6):
        log.record({"step": step})
    log.forget_after(3)
    assert [entry["step"] for entry in read_log(tmp_path / "log.jsonl")] == [1, 2, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


def test_a_log_that_cannot_be_written_is_an_error_of_the_disk(tmp_path):
    log = Log(tmp_path / "gone" / "log.jsonl", None)
    with pytest.raises(DiskError, match=r"log.jsonl: cannot be written: No such file or directory."):
        log.record({})


def test_without_a_terminal_there_is_no_colour_and_no_bar(tmp_path):
    console = a_console()
    with Log(tmp_path / "log.jsonl", console) as log:
        log.say("a [bold]text[/bold] as it is", "bold red")
        log.advance(10, 1.5, {}, 1000.0, 0.5, 60.0)
    assert console.file.getvalue() == "a [bold]text[/bold] as it is\n"


def test_a_line_now_and_then_stands_for_the_bar(tmp_path, monkeypatch):
    console = a_console()
    log = Log(tmp_path / "log.jsonl", console)
    log._last_line -= 31
    log.advance(1200, 1.5, FELT, 12345.0, 0.5, 3700.0)
    log.advance(1201, 1.5, FELT, 12345.0, 0.5, 3700.0)
    assert console.file.getvalue() == (
        "step 1,200  loss 1.500  norm 0.84, 30% clipped  12,345 tokens/s  1 h 01 min left\n"
    )


def test_a_line_that_would_be_too_long_is_without_the_gradient(tmp_path):
    console = a_console()
    log = Log(tmp_path / "log.jsonl", console)
    log._last_line -= 31
    log.advance(123456, 1.5, FELT, 12345.0, 0.5, 3700.0)
    assert console.file.getvalue() == "step 123,456  loss 1.500  12,345 tokens/s  1 h 01 min left\n"


def test_the_median_norm_and_the_share_that_was_clipped():
    assert gradient([3.0, 0.5, 1.0, 9.0], 1.0) == {"gradient_norm": 2.0, "clipped": 0.5}
    assert gradient([3.0], 0.0) == {"gradient_norm": 3.0, "clipped": 0.0}
    assert gradient([], 1.0) == {}


def test_the_share_of_true_words_is_told_where_it_is_not_all_of_them(tmp_path):
    console = a_console()
    log = Log(tmp_path / "log.jsonl", console)
    log._last_line -= 31
    log.advance(1200, 1.5, {"teacher_forcing": 0.8754}, 12345.0, 0.5, 60.0)
    assert console.file.getvalue() == "step 1,200  loss 1.500  forcing 0.875  12,345 tokens/s  1 min left\n"


def test_a_terminal_gets_a_bar(tmp_path):
    console = a_console(terminal=True)
    with Log(tmp_path / "log.jsonl", console) as log:
        log.advance(10, 1.5, FELT, 1000.0, 0.5, 60.0)
    assert "step 10" in console.file.getvalue()
    assert "norm" not in console.file.getvalue()


def test_a_wide_terminal_has_room_for_the_gradient(tmp_path):
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with Log(tmp_path / "log.jsonl", console) as log:
        log.advance(10, 1.5, FELT, 1000.0, 0.5, 60.0)
    assert "norm 0.84, 30% clipped" in console.file.getvalue()


@pytest.mark.parametrize(
    ("width", "bar", "line"),
    [
        (80, 14, " 50% step 100,000  loss 1.500  1,000 tokens/s  2 h 03 min left"),
        (70, 0, " 50% step 100,000  loss 1.500  1,000 tokens/s  2 h 03 min left"),
        (50, 0, " 50% step 100,000  loss 1.500  2 h 03 min left"),
        (40, 0, " 50% step 100,000  2 h 03 min left"),
    ],
)
def test_a_narrow_terminal_still_tells_the_time_that_is_left(tmp_path, width, bar, line):
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=width)
    with Log(tmp_path / "log.jsonl", console) as log:
        log.advance(100_000, 1.5, FELT, 1000.0, 0.5, 7385.0)
    assert "\x1b[2K" + ("━" * (bar // 2)).ljust(bar) + " " * bool(bar) + line in console.file.getvalue()


def test_samples_are_shown_and_clipped(tmp_path):
    console = a_console()
    samples = [("one", "eins", "eins"), ("x" * 80, "two", "zwo")]
    Log(tmp_path / "log.jsonl", console).validation({"step": 5, "valid": {"loss": 1.23456}}, samples, True)
    assert console.file.getvalue() == (
        "step 5  validation: loss 1.235  (best so far)\n"
        "    one\n      = eins\n      > eins\n"
        f"    {'x' * 55}…\n      = two\n      > zwo\n"
    )


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.4, "59 s"), (61, "1 min"), (3599, "60 min"), (3600, "1 h 00 min"), (7385, "2 h 03 min")]
)  # fmt: skip
def test_durations_are_for_people(seconds, text):
    assert duration(seconds) == text


def test_clipping():
    assert (clip("abcdef", 6), clip("abcdefg", 6)) == ("abcdef", "abcde…")
