"""METEOR by hand, what its signature says, and what it refuses."""

import pytest

from antiphon.errors import AntiphonError
from antiphon.evaluate.meteor import TUNING, Meteor, meteor, read_function_words
from antiphon.evaluate.scores import Scoring, score_all
from antiphon.evaluate.wordnet import Wordnet


@pytest.fixture
def wordnet(tmp_path):
    """A database of four words in two synsets, in WordNet's format."""
    licence = "  1 This is a licence.  \n"
    lines = {
        "index.noun": "car n 1 1 @ 1 1 02958343  \nauto n 1 1 @ 1 1 02958343  \nbus n 2 1 @ 2 0 02924116 02958343  \n",
        "index.verb": "go v 1 1 @ 1 1 01835496  \nmove v 1 1 @ 1 1 01835496  \n",
        "index.adj": "", "index.adv": "", "noun.exc": "autoes auto\n", "verb.exc": "went go\n", "adj.exc": "", "adv.exc": "",
    }  # fmt: skip
    for name, text in lines.items():
        (tmp_path / name).write_text(text if name.endswith("exc") else licence + text)
    return Wordnet(tmp_path)


def test_golden_by_hand():
    # Function words weigh 1/4, others 3/4. Matches: the, cat; of 4 and of 3 words.
    metric = Meteor("en", function_words=frozenset({"the"}))
    precision, recall = (0.25 + 0.75) / (0.25 + 3 * 0.75), (0.25 + 0.75) / (0.25 + 2 * 0.75)
    mean = precision * recall / (0.85 * precision + 0.15 * recall)
    score = meteor(["The cat runs home"], ["the cat slept"], metric)
    assert score.value == pytest.approx(100 * mean * (1 - 0.6 * (1 / 2) ** 0.2))


def test_order_costs():
    metric = Meteor("de")
    right, turned, apart = (meteor([line], ["a b c d"], metric).value for line in ("a b c d", "c d a b", "d b c a"))
    assert (right, turned) == (pytest.approx(100.0), pytest.approx(100 * (1 - 0.55 * 2 / 4)))
    assert right > turned > apart


def test_stages_weigh_less_the_less_is_equal(wordnet):
    metric = Meteor("en", wordnet, frozenset({"zzz"}))
    pairs = [("cars", "cars"), ("tree", "trees"), ("auto", "cars"), ("tree", "cars")]
    same, stem, synonym, other = (meteor([said], [wanted], metric).value for said, wanted in pairs)
    assert (same, stem, synonym, other) == (pytest.approx(100), pytest.approx(60), pytest.approx(80), 0)
    assert meteor(["went"], ["moves"], metric).value == pytest.approx(80)
    assert meteor(["auto"], ["cars"], Meteor("en")).value == 0


@pytest.mark.parametrize(
    ("verb", "adjective", "same"),
    # forget and placed as Debian numbers them, 18 bytes and one behind Princeton's; and as Princeton does.
    [("00613036", "01681478", "00613018 01681477"), ("00613018", "01681477", "00613018 01681477")],
)
def test_debians_files_have_the_numbers_of_princetons(wordnet, tmp_path, verb, adjective, same):
    (tmp_path / "index.verb").write_text(f"forget v 1 1 @ 1 1 {verb}  \nwake v 1 1 @ 1 1 02422967  \n")
    (tmp_path / "index.adj").write_text(f"placed a 1 1 & 1 1 {adjective}  \n")
    (tmp_path / "index.adv").write_text("by_chance r 2 0 2 0 00613036 01681477  \n")
    known = Wordnet(tmp_path)
    assert known.synsets("forget") | known.synsets("placed") == set(map(int, same.split()))
    assert known.synsets("wake") == {2422967}
    assert known.synsets("placed") < known.synsets("by_chance"), "one number by chance, as in the reference program"


def test_a_corpus_is_more_than_the_mean_of_its_lines():
    metric = Meteor("fr")
    one, other = meteor(["a b"], ["a b"], metric).value, meteor(["x"], ["y z"], metric).value
    assert meteor(["a b", "x"], ["a b", "y z"], metric).value != pytest.approx((one + other) / 2)


def test_the_best_reference_of_a_line_counts():
    metric = Meteor("es")
    assert meteor(["uno dos"], [["tres", "uno dos"]], metric).value == pytest.approx(100)


def test_nothing_has_no_score():
    assert meteor(["", "a"], ["b", ""], Meteor("it")).value == 0.0


@pytest.mark.parametrize("language", TUNING)
def test_every_language_has_its_stages(language):
    expected = {"cs": "exact"}.get(language, "exact.stem")
    listed = "own-1" if language in ("en", "cs", "fr", "es", "de") else "none"
    assert meteor(["a"], ["a"], Meteor(language), "none").signature == (
        f"METEOR-1.5|lang:{language}|stages:{expected}|function:{listed}|tok:none|case:lc|version:7.8.9"
    )


def test_the_signature_names_what_was_read(wordnet, tmp_path):
    (tmp_path / "words").write_text("der\ndie\n\ndas\n")
    words = read_function_words(tmp_path / "words")
    assert words == {"der", "die", "das"}
    assert Meteor("de", function_words=words).signature == "lang:de|stages:exact.stem|function:47ac7e17"
    assert Meteor("en", wordnet).signature == "lang:en|stages:exact.stem.synonym|function:own-1"
    several = meteor(["a", "b"], [["a", "b"], ["b"]], Meteor("cs")).signature
    assert several.endswith("|function:own-1|tok:13a|nrefs:var|case:lc|version:7.8.9")


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            {"language": "xx"},
            "meteor.language: no such choice as 'xx'. Known: en, cs, fr, es, de, ru, da, fi, hu, it, nl, no, pt, ro, sv, tr.",
        ),
        ({"wordnet": "x"}, "wordnet: it is for METEOR, and METEOR needs a language. Name one, such as en."),
        ({"function_words": "x"}, "function_words: it is for METEOR, and METEOR needs a language. Name one, such as en."),
        (
            {"language": "en", "wordnet": "{}/none"},
            "wordnet: {}/none/index.noun cannot be read (No such file or directory). Name the folder of WordNet's "
            "database files, such as /usr/share/wordnet of Debian's wordnet-base.",
        ),
        (
            {"language": "en", "wordnet": "{}/broken"},
            "{}/broken/index.noun:2: not a line of WordNet's database. Is the file whole?",
        ),
        ({"language": "de", "wordnet": "{}"}, "meteor.wordnet: WordNet is English, and the language is 'de'. Leave it out."),
        (
            {"language": "de", "function_words": "{}/none"},
            "function words: {}/none cannot be read (No such file or directory). Give one word a line.",
        ),
        ({"language": "de", "function_words": "{}/empty"}, "function words: {}/empty is empty. Give one word a line."),
        ({"language": "de", "function_words": "{}/latin"}, "function words: {}/latin is not UTF-8. Give one word a line."),
    ],
    ids=["language", "wordnet", "words", "no wordnet", "broken", "german", "no list", "empty list", "latin list"],
)  # fmt: skip
def test_what_cannot_be_chosen(wordnet, tmp_path, chosen, message):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "index.noun").write_text("  1 A licence.\ncar n one\n")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "latin").write_bytes(b"f\xfcr\n")
    with pytest.raises(AntiphonError) as caught:
        Scoring(**{key: value.format(tmp_path) for key, value in chosen.items()}).meteor()
    assert str(caught.value) == message.format(tmp_path)


def test_all_scores_in_their_order():
    names = [score.name for score in score_all(["a b"], [["a b", "a"]], Scoring(language="en"))]
    assert names == [
        "BLEU", "chrF2", "TER", "METEOR", "ROUGE-1", "ROUGE-2", "ROUGE-L", "exact match", "token accuracy", "WER", "CER",
    ]  # fmt: skip
    assert [score.name for score in score_all(["a b"], ["a b"], Scoring(phones=True))][-1] == "PER"
