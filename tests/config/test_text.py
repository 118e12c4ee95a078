import gzip
from pathlib import Path

import pytest

from antiphon.config.text import recipe_names
from antiphon.config.toml import load_run
from antiphon.errors import AntiphonError


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def complaint(content, name="run.toml"):
    """What the user is told about a file that holds this."""
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(AntiphonError) as caught:
        load_run(Path(name), None, {}, [])
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[data]\ntrain = pairs.tsv\n",
            'run.toml:2: this is not TOML: invalid value (text needs quotes: key = "text")',
        ),
        ("[data]\ntrain\n", "run.toml:2: this is not TOML: expected '=' after a key in a key/value pair"),
        (
            "[data]\r\n\r\n\r\ntrain = = 1",
            'run.toml:4: this is not TOML: invalid value (text needs quotes: key = "text")',
        ),
        ("seed = 1\nseed = 2\n", "run.toml:2: this is not TOML: cannot overwrite a value"),
        ("[train]\n[data]\n[train]\n", "run.toml:3: this is not TOML: cannot declare [train] twice"),
        ('[data]\ntrain = """', "run.toml:2: this is not TOML: unterminated string"),
        ("[data]\ntrain = [", 'run.toml:2: this is not TOML: invalid value (text needs quotes: key = "text")'),
        ("seed = " + "9" * 5000, "run.toml:1: this is not TOML: exceeds the limit"),
        ("seed = " + "[" * 100_000, "run.toml: brackets within brackets, too deep to be read"),
    ],
)
def test_toml_errors_name_file_and_line(text, message):
    assert complaint(text).startswith(message)


def test_bytes_that_are_not_utf8_name_their_line():
    assert complaint(b"[data]\n# caf\xe9\n") == "run.toml:2: not UTF-8. Save the file as UTF-8"


def test_a_byte_order_mark_is_tolerated():
    Path("run.toml").write_bytes('\ufeff[data]\ntrain = "x"\n'.encode())
    assert load_run(Path("run.toml"), None, {}, []).data.train == ["x"]


def test_pairs_given_as_a_run_file():
    hint = "If it holds pairs, give it with --train pairs.tsv"
    assert complaint("ein Haus\ta house\n", "pairs.tsv") == (
        f"pairs.tsv:1: this is not TOML: expected '=' after a key in a key/value pair. {hint}"
    )
    assert complaint("a\tb\n" * 300_000, "pairs.tsv") == (
        f"pairs.tsv: too large for a run file (over 1,000,000 bytes). {hint}"
    )
    assert complaint(gzip.compress(b"a\tb\n"), "pairs.tsv.gz") == (
        f"pairs.tsv.gz:1: not UTF-8. Save the file as UTF-8. {hint}.gz"
    )


def test_an_empty_file_lacks_its_pairs():
    assert complaint("").startswith("data.train: no training pairs are named.")


def test_files_that_cannot_be_read(tmp_path):
    for path, message in [
        (Path("runn.toml"), "runn.toml: no such run file"),
        (Path("rnnsearch"), "rnnsearch: no such run file. For the recipe give --recipe rnnsearch"),
        (tmp_path, f"{tmp_path}: this is a folder. Give a run file, such as {tmp_path}/run.toml"),
        (Path("x" * 300), f"{'x' * 300}: cannot be read (File name too long)"),
    ]:
        with pytest.raises(AntiphonError) as caught:
            load_run(path, None, {}, [])
        assert str(caught.value) == message


def test_an_unknown_recipe():
    for name, question in [("rnnserch", ' Did you mean "rnnsearch"?'), ("../recipes/rnnsearch", "")]:
        with pytest.raises(AntiphonError) as caught:
            load_run(None, name, {}, [])
        known = ", ".join(recipe_names())
        assert str(caught.value) == f"--recipe: no such recipe as '{name}'.{question} Known: {known}"
