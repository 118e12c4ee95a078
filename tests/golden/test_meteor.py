"""METEOR beside the reference program, METEOR 1.5, which is run where Java and its jar are: a test oracle only.

The jar is that of the package pycocoevalcap (`pip install --no-deps pycocoevalcap==1.2`), or the one that
ANTIPHON_METEOR_JAR names. Both sides get the same cut and lowered words, and the same list of function words.
"""

import gzip
import importlib.util
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from antiphon.evaluate.function_words import FUNCTION_WORDS
from antiphon.evaluate.meteor import Meteor, read_function_words
from antiphon.evaluate.metrics import cutter
from antiphon.evaluate.wordnet import Wordnet

WORDNET = Path("/usr/share/wordnet")


@pytest.fixture(scope="module")
def jar():
    package = importlib.util.find_spec("pycocoevalcap")
    inside = (
        Path(next(iter(package.submodule_search_locations)), "meteor", "meteor-1.5.jar") if package else Path("none")
    )
    found = Path(os.environ.get("ANTIPHON_METEOR_JAR", inside))
    if not found.exists() or shutil.which("java") is None:
        pytest.skip("no Java, or no METEOR jar: see the top of this file")
    return found


def lines(folder, *parts):
    path = folder.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().removesuffix("\n").split("\n")


def reference(jar, folder, answers, references, language, stages, words):
    """What the reference program gives each line, and all of them."""
    for name, texts in (("answers", answers), ("references", references), ("words", sorted(words))):
        (folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    ended = subprocess.run(
        ["java", "-Xmx1G", "-Dfile.encoding=UTF-8", "-jar", jar, folder / "answers", folder / "references",
         "-l", language, "-lower", "-m", " ".join(stages), "-s", folder / "words"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = [float(score) for score in re.findall(r"Segment \d+ score:\s+(\S+)", ended.stdout)]
    return np.array(found), float(re.search(r"Final score:\s+(\S+)", ended.stdout)[1])


def both(jar, folder, answers, references, language, stages, metric):
    cut = cutter("13a")
    answers, references = ([cut(text).lower() for text in texts] for texts in (answers, references))
    found, whole = reference(jar, folder, answers, references, language, stages, metric.function_words)
    rows = np.array([metric.row(a.split(), [b.split()]) for a, b in zip(answers, references, strict=True)])
    return metric.scores(rows), found, float(metric.scores(rows.sum(axis=0))), whole


def test_the_synsets_of_every_word(jar):
    if not WORDNET.exists():
        pytest.skip("no WordNet: apt-get install wordnet-base")
    with zipfile.ZipFile(jar) as content:
        rows = content.read("synonym/english.synsets").decode().split("\n")
    theirs = {
        word: {int(number) for number in numbers.split()} for word, numbers in zip(rows[::2], rows[1::2], strict=False)
    }
    assert Wordnet(WORDNET)._synsets == {word: numbers for word, numbers in theirs.items() if word}


@pytest.mark.parametrize(
    "system",
    ["LIUM-NMT.4900", *(pytest.param(name, marks=pytest.mark.slow) for name in ("C-3MA.4959", "online-A.0"))],
)
def test_a_thousand_lines_of_wmt17_systems(jar, real_data, tmp_path, system):
    answers = lines(real_data, "wmt17", f"newstest2017.{system}.en-de.txt.gz")[:1000]
    references = lines(real_data, "wmt17", "reference.txt.gz")[:1000]
    metric = Meteor("de")
    ours, theirs, our_whole, whole = both(jar, tmp_path, answers, references, "de", ["exact", "stem"], metric)
    assert len(theirs) == 1000
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    assert our_whole == pytest.approx(whole, abs=1e-4)


def captions(real_data):
    texts = [line.split("\t")[1] for line in lines(real_data, "flickr8k", "Flickr8k.token.txt.gz")]
    return texts[0:5000:5], texts[1:5000:5]


def test_the_reference_programs_own_function_words(jar, real_data, tmp_path):
    with zipfile.ZipFile(jar) as content:
        (tmp_path / "english.words").write_bytes(content.read("function/english.words"))
    metric = Meteor("en", function_words=read_function_words(tmp_path / "english.words"))
    ours, theirs, our_whole, whole = both(jar, tmp_path, *captions(real_data), "en", ["exact", "stem"], metric)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    assert our_whole == pytest.approx(whole, abs=1e-4)


def test_synonyms_of_wordnet(jar, real_data, tmp_path):
    if not WORDNET.exists():
        pytest.skip("no WordNet: apt-get install wordnet-base")
    stages = ["exact", "stem", "synonym"]
    metric = Meteor("en", Wordnet(WORDNET))
    ours, theirs, our_whole, whole = both(jar, tmp_path, *captions(real_data), "en", stages, metric)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    assert our_whole == pytest.approx(whole, abs=1e-4)


@pytest.mark.parametrize(
    ("language", "stages"), [("fr", ["exact", "stem"]), ("cz", ["exact"]), ("ru", ["exact", "stem"])]
)
def test_other_languages_weights(jar, tmp_path, language, stages):
    # The words need not be of the language: what is compared are its parameters and the search.
    words = [
        "la",
        "lune",
        "et",
        "le",
        "soleil",
        "brillent",
        "sur",
        "la",
        "mer",
        ".",
        "le",
        "soir",
        ",",
        "une",
        "chanson",
        "dort",
        "dans",
        "les",
        "maisons",
    ]
    drawn = np.random.default_rng(7)
    answers, references = ([" ".join(drawn.choice(words, drawn.integers(1, 18))) for _ in range(200)] for _ in range(2))
    metric = Meteor({"cz": "cs"}.get(language, language), function_words=FUNCTION_WORDS["fr"])
    ours, theirs, our_whole, whole = both(jar, tmp_path, answers, references, language, stages, metric)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    assert our_whole == pytest.approx(whole, abs=1e-4)
