"""The documents are true: their commands and programs run, and every file, key, recipe and name in them exists."""

import contextlib
import importlib
import io
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, zip_longest
from operator import getitem
from pathlib import Path

import pytest

import antiphon
from antiphon import api, store
from antiphon.cli import app, main
from antiphon.config import toml
from antiphon.config.keys import all_tables, choices_of, join, kind_of
from antiphon.config.schema import Run
from antiphon.config.text import parse_sets, recipe_names
from tests.foreign import write_bert, write_gpt2

# Here it is meant: `main` reads the words from sys.argv, as under a shell.
pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens:UserWarning")

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "antiphon"
DOCUMENTS = {str(path.relative_to(ROOT)): path for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])}
# The commands of this one take hours, on data that is not shipped: they are read, not run.
MEASURED = "docs/results.md"
SMALL = ["train.max_steps=3", "train.self_check=false"]
VERBS = [name for name in app if not name.startswith("-")]
HARMLESS = ("cp ", "echo ", "mkdir ")

ADDRESSES = {join(address, key) for address, table in all_tables() for key in table.model_fields}
ROOMS = {path.stem for path in PACKAGE.iterdir() if not path.name.startswith("_")}
RECIPE = re.compile(r"(transformer-|rnn|demo-|gpt-|bert-|bart-|luong|sutskever)[\w-]*")


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    language: str
    text: str
    place: str

    def commands(self) -> list[str]:
        """The lines of a shell block, with those joined that a backslash continues."""
        lines = re.sub(r"\\\n\s*", "", self.text).splitlines()
        return [line for line in lines if line.strip() and not line.startswith("#")]


def blocks(name: str) -> list[Block]:
    text = DOCUMENTS[name].read_text("utf-8")
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(each[1], each[2], f"{name}:{text.count(chr(10), 0, each.start()) + 1}") for each in found]


def prose(name: str) -> str:
    return re.sub(r"^```.*?^```$", "", DOCUMENTS[name].read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def inline_code(name: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", prose(name))


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def run_antiphon(words: list[str], given: str) -> Outcome:
    """A verb as the shell would run it, but in this process, where torch is imported already."""
    parts = [io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8") for text in (given, "", "")]
    before, code = (sys.argv, sys.stdin), 0
    sys.argv, sys.stdin = ["antiphon", *words], parts[0]
    try:
        with contextlib.redirect_stdout(parts[1]), contextlib.redirect_stderr(parts[2]):
            main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.argv, sys.stdin = before
    said = []
    for part in parts[1:]:
        part.flush()
        said.append(part.buffer.getvalue().decode())
    return Outcome(code, *said)


def parse(words: list[str]) -> None:
    """Refuses a verb or a flag that there is not."""
    app.parse_args(words, exit_on_error=False, print_error=False)


def run_command(line: str, folder: Path) -> Outcome:
    """One line of a shell block: `[echo ... |] antiphon ... [> file]`, or one of a few that are known."""
    before, _, command = line.rpartition(" | ")
    words = shlex.split(command, comments=True)
    if words[0] == "antiphon":
        given = _shell(before, folder).out if before else ""
        words, target = (words[:-2], folder / words[-1]) if ">" in words else (words, None)
        parse(words[1:])
        if words[1] in ("demo", "judge"):  # one takes a minute, one waits for people; they have tests of their own
            return Outcome(0, "", "")
        outcome = run_antiphon(words[1:], given)
        if target is not None:
            target.write_text(outcome.out, "utf-8")
        return outcome
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), f"no target: {line}"
        return Outcome(0, "", "")
    if words[:2] == ["pip", "install"]:
        assert all((ROOT / file).exists() for option, file in pairwise(words) if option == "-c"), (
            f"no such file: {line}"
        )
        return Outcome(0, "", "")
    assert line.startswith(HARMLESS), f"the test does not know how to run: {line}"
    return _shell(line, folder)


def _shell(line: str, folder: Path) -> Outcome:
    done = subprocess.run(["bash", "-euc", line], cwd=folder, capture_output=True, text=True, timeout=10)
    return Outcome(done.returncode, done.stdout, done.stderr)


TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
ONES = ("", " one", " two", " three", " four", " five", " six", " seven", " eight", " nine")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the documents speak of; runs in it are cut short, whatever they ask for."""
    pairs = [f"{TENS[value // 10 - 2]}{ONES[value % 10]}\t{value}\n" for value in range(20, 100)]
    (tmp_path / "pairs.tsv").write_text("".join(pairs[:70]), "utf-8")
    write_gpt2(tmp_path / "gpt2")
    write_bert(tmp_path / "bert")
    (tmp_path / "test.tsv").write_text("".join(pairs[70:]), "utf-8")
    for name, part in (("text.txt", pairs[:70]), ("test.txt", pairs[70:])):
        (tmp_path / name).write_text("".join(part).replace("\t", " is "), "utf-8")
    (tmp_path / "sentences.txt").write_text("twenty one\n\nthirty four\n", "utf-8")
    reviews = [f"{'bad' if n % 2 else 'good'}\t{'dull' if n % 2 else 'lovely'} film {n}\n" for n in range(40)]
    (tmp_path / "reviews.tsv").write_text("".join(reviews[:30]), "utf-8")
    (tmp_path / "reviews-test.tsv").write_text("".join(reviews[30:]), "utf-8")
    tagged = "the\tDET\nbig\tADJ\ndog\tNOUN\nsees\tVERB\na\tDET\ncat\tNOUN\n"
    sentences = [tagged.replace("big", f"big{n}") for n in range(12)]
    (tmp_path / "tagged.conll").write_text("\n".join(sentences[:9]), "utf-8")
    (tmp_path / "tagged-test.conll").write_text("\n".join(sentences[9:]), "utf-8")
    asked = '{{"question": "Who wrote it?", "context": "Ada {0} wrote it in {0}.", "answers": ["Ada {0}"]}}\n'
    (tmp_path / "questions.jsonl").write_text("".join(asked.format(n) for n in range(30)), "utf-8")
    load_run = toml.load_run
    for module in (toml, api):
        monkeypatch.setattr(
            module, "load_run", lambda path, recipe, data, sets: load_run(path, recipe, data, [*sets, *SMALL])
        )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_settings(block: Block, folder: Path) -> None:
    """A run file; one that begins with its name is left where commands find it."""
    named = re.match(r"# ([\w.-]+\.toml)\n", block.text)
    file = folder / (named[1] if named else "unnamed.toml")
    file.write_text(block.text, "utf-8")
    given = {} if "train" in tomllib.loads(block.text).get("data", {}) else {"data": {"train": ["pairs.tsv"]}}
    toml.load_run(file, None, given, [])


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != MEASURED])
def test_every_block_runs(name, folder):
    found = blocks(name)
    for block, after in zip_longest(found, found[1:]):
        # A text block that begins so is what the command before it says when it refuses.
        refusal = after.text if after and after.language == "text" and after.text.startswith("antiphon: ") else None
        if block.language == "sh":
            for line in block.commands():
                outcome = run_command(line, folder)
                wanted = (2, refusal) if refusal else (0, outcome.err)
                assert (outcome.code, outcome.err) == wanted, f"{block.place}: {line}\n{outcome.err}"
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block.text, block.place, "exec"), {})  # noqa: S102 (our own documents)
        elif block.language == "toml":
            read_settings(block, folder)
        else:
            assert block.language == "text", f"{block.place}: a block of {block.language!r} is neither run nor checked"


def test_the_commands_that_run_say_what_the_documents_say(folder):
    assert run_command("antiphon train --recipe rnnsearch --train pairs.tsv --out runs/x", folder).code == 0
    answered = run_command("antiphon predict runs/x sentences.txt --scores > answers.txt", folder)
    lines = (folder / "answers.txt").read_text("utf-8").splitlines()
    assert answered.code == 0
    assert [len(line.split("\t")) for line in lines] == [2, 2, 2]
    assert lines[1] == "0.0000\t"
    asked = run_command("echo 'twenty one' | antiphon predict runs/x --n-best 3", folder).out.splitlines()
    assert [line.split("\t")[0] for line in asked] == ["1", "1", "1"]
    assert run_command("antiphon predict runs/y", folder).code == 2


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_command_can_be_parsed_and_names_what_there_is(name):
    for block in blocks(name):
        for line in block.commands() if block.language == "sh" else []:
            words = shlex.split(line.rpartition(" | ")[2].partition(" > ")[0], comments=True)
            if words and words[0] == "antiphon":
                parse(words[1:])
                named = [word for option, word in pairwise(words) if option == "--recipe"]
                assert set(named) <= set(recipe_names()), f"{block.place}: {line}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_leads_somewhere(name):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(name)):
        if target.startswith(("https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        file = (DOCUMENTS[name].parent / path).resolve() if path else DOCUMENTS[name]
        assert file.exists(), f"{name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings], target


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_file_and_room_named_is_there(name):
    for code in inline_code(name):
        if re.fullmatch(r"[\w.-]+(/[\w.-]+)*(\.(py|md|toml|txt)|/)", code) and ("/" in code or code.endswith(".py")):
            known = code.rstrip("/") in store.KNOWN
            assert known or (ROOT / code).exists() or (PACKAGE / code).exists(), f"{name}: {code}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_dotted_name_is_a_key_or_a_part_of_the_package(name):
    for code in inline_code(name):
        found = re.fullmatch(r"([a-z_]+(?:\.\w+)+)(\(.*\))?", code)
        endings = (".py", ".md", ".toml", ".txt", ".tsv", ".json", ".jsonl", ".safetensors")
        if found is None or code.endswith(endings):
            continue
        if found[1].partition(".")[0] in {*ROOMS, *Run.model_fields, "antiphon"}:
            assert found[1] in ADDRESSES or is_part(found[1]), f"{name}: {code}"


def is_part(dotted: str) -> bool:
    """A module of the package, something in it, or something in that."""
    here, names = antiphon, dotted.removeprefix("antiphon.").split(".")
    for depth, part in enumerate(names, start=1):
        if (PACKAGE.joinpath(*names[:depth])).is_dir() or PACKAGE.joinpath(*names[:depth]).with_suffix(".py").exists():
            here = importlib.import_module(".".join(["antiphon", *names[:depth]]))
        elif part in getattr(here, "__annotations__", {}):
            return depth == len(names)
        elif not hasattr(here, part):
            return False
        else:
            here = getattr(here, part)
    return True


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_value_that_a_key_is_given_is_allowed(name):
    for code in inline_code(name):
        found = re.fullmatch(r"(--set )?(([a-z_]+(?:\.[a-z_]+)+) ?= ?\S+)", code)
        if found is None:
            continue
        of_a_shell, choice, address = found.groups()
        assert address in ADDRESSES, f"{name}: {code}"
        home, _, key = address.rpartition(".")
        tables = [table for place, table in all_tables() if place == home and key in table.model_fields]
        allowed = [value for table in tables for value in choices_of(table.model_fields[key])]
        allowed += [kind_of(table) for table in tables if key == "kind"]
        given = parse_sets([choice]) if of_a_shell else tomllib.loads(choice)
        assert not allowed or reduce(getitem, address.split("."), given) in allowed, f"{name}: {code}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_recipe_and_verb_named_in_passing_exists(name):
    for code in inline_code(name):
        if RECIPE.fullmatch(code):
            assert code in recipe_names(), f"{name}: {code}"
        if (verb := re.match(r"antiphon ([a-z]\w*)", code)) is not None:
            assert verb[1] in VERBS, f"{name}: {code}"


def test_nothing_that_exists_is_left_unsaid():
    text = "".join(path.read_text("utf-8") for path in DOCUMENTS.values())
    assert [verb for verb in VERBS if f"antiphon {verb}" not in text] == []
    assert [recipe for recipe in recipe_names() if f"`{recipe}`" not in text] == []
    tour = DOCUMENTS["docs/tour.md"].read_text("utf-8")
    rooms = [path for path in PACKAGE.iterdir() if not path.name.startswith("_") and path.name != "py.typed"]
    assert [path.name for path in rooms if f"| `{path.name}{'/' * path.is_dir()}` |" not in tour] == []
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert version in DOCUMENTS["CHANGELOG.md"].read_text("utf-8")


def test_documents_keep_their_size_and_their_numbers():
    assert len(DOCUMENTS["README.md"].read_text("utf-8").splitlines()) <= 100
    decisions = [path for path in DOCUMENTS.values() if path.parent.name == "decisions"]
    for count, path in enumerate(decisions, start=1):
        lines = path.read_text("utf-8").splitlines()
        assert path.name.startswith(f"{count:04}-")
        assert lines[0].startswith(f"# {count:04} ")
        assert len(lines) <= 45, f"{path.name}: half a page is enough"
        assert [line for line in lines if line.startswith("## ")] == ["## Decision", "## Why", "## What it costs"]
