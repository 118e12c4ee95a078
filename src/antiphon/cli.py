"""The command line: one function a verb. Torch is imported by the verbs that compute, never by `--help`."""

import errno
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError

from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.commands.systems import Folders
    from antiphon.config.schema import Run
    from antiphon.evaluate.scores import Scoring

app = App(
    name="antiphon",
    help="Give it pairs, and it gives you a model that you can run, look into and check.",
    help_on_error=False,
    suppress_keyboard_interrupt=False,
)

Sets = Annotated[list[str] | None, Parameter(name=["--set", "-s"], consume_multiple=False, negative=())]
Files = Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())]
Texts = Annotated[list[str] | None, Parameter(consume_multiple=False, negative=())]
Partners = Annotated[list[Path] | None, Parameter(name="--with", consume_multiple=False, negative=())]
Flag = Annotated[bool, Parameter(negative=())]
Number = int | None
Width = Annotated[Number, Parameter(help="Hypotheses that are kept; 1 is greedy.")]
Language = (
    Literal["en", "cs", "fr", "es", "de", "ru", "da", "fi", "hu", "it", "nl", "no", "pt", "ro", "sv", "tr"] | None
)


def main() -> None:
    """Run a verb; the exit code is 0, 2 for the user's mistake, 1 for the machine's or ours, 3 where
    --fail-if-worse finds so, 130 when interrupted."""
    _unicode_everywhere()
    try:
        app(sys.argv[1:], exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        verb = " ".join(["antiphon", *(error.command_chain or [])])
        told = str(error)
        if isinstance(error, UnusedCliTokensError):
            told = (
                f"{' '.join(error.unused_tokens or [])!r}: {verb} takes no more than it was given. Put texts in quotes."
            )
        print(f"antiphon: {told}\nSee: {verb} --help", file=sys.stderr)
        sys.exit(2)
    except AntiphonError as error:
        print(f"antiphon: {error}", file=sys.stderr)
        sys.exit(error.code)
    except KeyboardInterrupt:
        print("antiphon: interrupted", file=sys.stderr)
        sys.exit(130)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "can't allocate memory" not in str(error):
            raise
        print(
            "antiphon: not enough memory. Make the model smaller (width, layers, tokenizer.size), or its batches "
            "(train.batch_tokens); `antiphon doctor` tells what there is.",
            file=sys.stderr,
        )
        sys.exit(1)
    except BrokenPipeError:  # `antiphon predict ... | head` is no mistake
        _hush()
        sys.exit(0)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        _hush()
        print("antiphon: the answers cannot be written: no space is left for them. Make room.", file=sys.stderr)
        sys.exit(1)


def _hush() -> None:
    """What is still waiting to be printed can go nowhere, and Python would complain of it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unicode_everywhere() -> None:
    """Answers are UTF-8, whatever the terminal's locale says."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")


@app.command
def demo(
    *,
    task: Literal["dates", "pronounce"] = "dates",
    dictionary: Path | None = None,
    out: Path = Path("antiphon-demo"),
    fresh: Flag = False,
) -> None:
    """Train a small model on built-in real data in about a minute, score it, and show where it looks.

    Parameters
    ----------
    task
        Dates of many languages to ISO dates, or words to pronunciations (needs --dictionary).
    dictionary
        A pronouncing dictionary for --task pronounce: `word phones` a line, such as CMUdict.
    out
        The folder for the demo's data, model and page.
    fresh
        Train anew, even where the folder holds a trained demo.
    """
    from antiphon.commands.demo import run_demo

    run_demo(task, dictionary, out, fresh)


@Parameter(name="*")
@dataclass(frozen=True)
class Chosen:
    """What makes a run, for every verb that takes one."""

    recipe: str | None = None
    "A recipe to start from, such as rnnsearch or transformer-small; a wrong name lists them all."
    train: Files = None
    """Training data, as model.kind asks: pairs (TSV, JSONL, or sources with --train-target), texts and labels, CoNLL,
    questions, or plain text; .gz of any."""
    train_target: Files = None
    "The line-aligned targets of --train."
    valid: Files = None
    "Validation pairs; absent, a slice of the training pairs is held out."
    valid_target: Files = None
    "The line-aligned targets of --valid."
    set: Sets = None
    "Change a key: --set train.max_steps=2000. May be given often."

    def resolve(self, file: Path | None) -> "Run":
        from antiphon.config.toml import load_run

        keys = ("train", "train_target", "valid", "valid_target")
        data = {key: getattr(self, key) for key in keys if getattr(self, key) is not None}
        return load_run(file, self.recipe, {"data": data}, self.set or [])


_NOTHING = Chosen()


@app.command
def check(run: Path | None = None, *, chosen: Chosen = _NOTHING, json: Flag = False) -> None:
    """Resolve a run file, report on its data, and estimate parameters, time and memory. Trains nothing.

    Parameters
    ----------
    run
        A run file (TOML).
    json
        Print one JSON object instead of lines.
    """
    from antiphon.commands.check import run_check

    run_check(chosen.resolve(run), json)


@app.command
def train(run: Path | None = None, *, chosen: Chosen = _NOTHING, out: Path | None = None, fresh: Flag = False) -> None:
    """Train a model, or go on where a stopped run was: exactly, as if it had never stopped.

    Parameters
    ----------
    run
        A run file (TOML).
    out
        The run folder; by default runs/NAME of the run file or recipe.
    fresh
        Start over, and delete the run that the folder holds.
    """
    resolved = chosen.resolve(run)  # before torch is imported: a mistake is told at once

    from rich.console import Console

    from antiphon.data.rows import examples
    from antiphon.training.folder import default_out
    from antiphon.training.loop import train as train_run

    folder = out if out is not None else default_out(run, chosen.recipe)
    train_run(resolved, folder, fresh, Console())
    asked, test = examples(resolved.rows, resolved.model.kind == "masked")
    for number, command in enumerate((f"predict {{}} {asked}", f"evaluate {{}} {test}", "verify {}")):
        print(f"{'' if number else 'Next:':<5} antiphon {command.format(shlex.quote(str(folder)))}")


@Parameter(name="*")
@dataclass(frozen=True)
class Searched:
    """How an answer is chosen: what is not given is as the model's own [search] says."""

    n_best: Number = None
    "Answers a line, each on its own line after the input's number and its score."
    length_exponent: float | None = None
    "score = log-probability / length ^ exponent."
    length_penalty: Literal["power", "gnmt"] | None = None
    "What the exponent is of: the length, or (5 + length) / 6."
    coverage: float | None = None
    "What an answer loses for leaving its source unread; needs a model with attention."
    groups: Number = None
    "Divide the beam into groups that keep apart: --beam 6 --groups 3 --n-best 3."
    diversity: float | None = None
    "What a word costs a group for each hypothesis of a group before it that has the same word there."
    no_repeat: Number = None
    "So many symbols are never said twice in the same order."
    max_repeats: Number = None
    "No symbols, however many, are said more often than this in a row."
    prefix: str | None = None
    "What every answer begins with."
    contain: Texts = None
    "A phrase that every answer contains. May be given often."
    avoid: Texts = None
    "A text that no answer contains; ' so ', with spaces, only as a word. May be given often."
    glossary: Path | None = None
    "Terms, source TAB target a line: where a line holds the first, its answer contains the second."
    keep: Texts = None
    "A term that the answer contains as it is, where the line holds it. May be given often."
    answers: Path | None = None
    "The only answers there are, one a line."
    max_length: Number = None
    "Symbols in an answer at the most, its end counted."
    max_source: Number = None
    "Symbols in an input at the most; a longer one is refused."
    mbr: Literal["none", "chrf", "bleu"] | None = None
    "Give the answers that are most like all hypotheses or draws (minimum Bayes risk); their score is the likeness."
    reverse_weight: float | None = None
    "What --reverse counts, a symbol."
    model_of_answers_weight: float | None = None
    "What --model-of-answers counts, a symbol."

    def changes(self) -> dict[str, Any]:
        """The keys of [search] that are given, files read."""
        from antiphon.commands.lines import read_inputs, read_texts
        from antiphon.data.phrases import read_glossary

        given = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.glossary is not None:
            given["glossary"] = read_glossary(read_inputs(self.glossary), str(self.glossary))
        if self.answers is not None:
            given["answers"] = read_texts(self.answers)
        return given


_AS_THE_MODEL_SAYS = Searched()


@Parameter(name="*")
@dataclass(frozen=True)
class Drawn:
    """Whether answers are drawn, and how."""

    sample: Annotated[bool | None, Parameter(negative="--no-sample")] = None
    "Draw answers instead of searching for the best; --no-sample where the model's own [search] draws."
    temperature: float | None = None
    "Below 1 draws likelier symbols, above 1 rarer ones."
    top_k: Number = None
    "Draw from the k likeliest symbols only."
    top_p: float | None = None
    "Draw from the likeliest symbols that hold this much probability."
    min_p: float | None = None
    "Draw from symbols at least this much as likely as the likeliest."
    seed: Number = None
    "Line n is drawn with (seed, n)."
    draws: Number = None
    "With --sample: draws that --mbr and --reverse choose from."


_UNDRAWN = Drawn()


@Parameter(name="*")
@dataclass(frozen=True)
class Beside:
    """Models that have a say beside the one that is asked, and in how many bits all count."""

    partners: Partners = None
    """A model that writes together with MODEL: the mean of their probabilities counts. Both need the same target
    vocabulary. May be given often."""
    reverse: Path | None = None
    "A model of the other direction: of all hypotheses, those count most from which it would write the input."
    model_of_answers: Path | None = None
    "A language model of answers: of all hypotheses, those count most that it finds likely."
    int8: Flag = False
    "Weights in 8 bits while the answer is written: almost always the same answers."

    def folders(self, model: Path) -> "Folders":
        from antiphon.commands.systems import Folders

        return Folders(model, tuple(self.partners or ()), self.reverse, self.model_of_answers, self.int8)

    def given(self) -> dict[str, object]:
        """What was said, by the names of the flags."""
        named = vars(self)
        return {"with": named["partners"]} | {name: named[name] for name in ("reverse", "model_of_answers", "int8")}


_ALONE = Beside()


def _flags(values: Mapping[str, object]) -> list[str]:
    """Those that were given, as they are written."""
    given = (name for name, value in values.items() if value is not None and value is not False)
    return [f"--{name.replace('_', '-')}" for name in given]


@app.command
def predict(
    model: Path,
    file: Path | None = None,
    *,
    beam: Width = None,
    searched: Searched = _AS_THE_MODEL_SAYS,
    drawn: Drawn = _UNDRAWN,
    beside: Beside = _ALONE,
    scores: Flag = False,
    confidence: Flag = False,
    min_confidence: float | None = None,
    embed: Flag = False,
    json: Flag = False,
) -> None:
    """Answer every line of FILE or of standard input: line N of the output answers line N of the input.

    A language model of texts completes each line, and writes freely after an empty one; one of a running text also
    writes line breaks. A classifier gives the label of each line, or of text TAB text, a tagger a tag for each word
    between spaces; a masked model fills [MASK]. A model of spans reads lines of question TAB paragraph, or a file of
    questions, and gives an empty line where there is no answer.

    Parameters
    ----------
    model
        A model folder.
    file
        Text, one input a line; of a model of spans also SQuAD's JSON or JSONL; .gz of any. Absent, standard input.
    scores
        Put the score and a TAB before each answer; of a label or a span it is the probability.
    confidence
        Put the confidence and a TAB before each answer: the geometric mean of its symbols' calibrated probabilities.
        With --json also the probability of each word and of the whole, and warnings.
    min_confidence
        Give an empty line where the confidence is less than this, from 0 to 1, or where the answer repeats itself,
        gives the source back or leaves things out; --json has the reason.
    embed
        Give a vector for each line instead of an answer: numbers between spaces, of an empty line zeros. It is the mean
        of what the encoder leaves at the places of the text, or a language model's decoder; of a classifier, what its
        pool gives.
    json
        One JSON object a line: all answers with scores, symbols and what was never seen in training; with --embed text
        and vector.
    """
    from antiphon.commands.predict import Wanted, run_embed, run_predict

    if embed:
        printed = {"scores": scores, "confidence": confidence, "min_confidence": min_confidence}
        given = _flags(beside.given() | printed | {"beam": beam} | vars(searched) | vars(drawn))
        run_embed(model, beside.int8, file, [flag for flag in given if flag != "--int8"], json)
        return
    changes = {"beam": beam} | searched.changes() | vars(drawn)
    run_predict(beside.folders(model), file, changes, Wanted(scores, confidence, min_confidence, json))


@Parameter(name="*")
@dataclass(frozen=True)
class Scored:
    """How answers are scored, for every verb that scores them."""

    tokenize: Literal["13a", "none", "intl", "char", "zh"] = "13a"
    "BLEU's tokenisation, and METEOR's: none for text that is tokenised already."
    lowercase: Flag = False
    "Compare without regard to case."
    language: Language = None
    "The language of the answers, for METEOR; absent, there is no METEOR."
    wordnet: Path | None = None
    "A folder of WordNet's database files: METEOR knows English synonyms."
    function_words: Path | None = None
    "METEOR's function words, one a line, instead of our own list."

    def scoring(self, phones: bool = False) -> "Scoring":
        from antiphon.evaluate.scores import Scoring

        return Scoring(self.tokenize, self.lowercase, phones, self.language, self.wordnet, self.function_words)

    def given(self) -> dict[str, object]:
        """What was said, by the names of the flags."""
        return {name: value for name, value in vars(self).items() if value != getattr(Scored, name)}


_PLAIN = Scored()


@app.command
def evaluate(
    model: str,
    test: str,
    *,
    target: str | None = None,
    references: Files = None,
    any_target: Flag = False,
    beam: Width = None,
    searched: Searched = _AS_THE_MODEL_SAYS,
    drawn: Drawn = _UNDRAWN,
    beside: Beside = _ALONE,
    phones: Flag = False,
    scores: Flag = False,
    scored: Scored = _PLAIN,
    judge_url: str | None = None,
    judge_model: str | None = None,
    judge_key: str | None = None,
    out: Path | None = None,
    json: Flag = False,
) -> None:
    """Score a model, or a file of answers, on test pairs.

    BLEU, chrF, TER, METEOR, ROUGE, exact match, accuracy, word and character error; of a model perplexity and bits per
    character too. Each score is printed with the signature that makes it comparable.

    A language model is scored on plain text: perplexity a symbol and a word, bits a character and a byte. A classifier
    is scored on texts and their labels: accuracy, F1, calibration, and which labels it confuses. A tagger is scored on
    CoNLL files: accuracy of words and sentences, F1 of spans. A model of spans is scored on SQuAD's JSON or JSONL of
    questions: exact match and F1, as the official scripts count them.

    Parameters
    ----------
    model
        A model folder, or a file of answers: line N answers line N of TEST.
    test
        Test pairs, or texts and labels: TSV, JSONL, or sources with --target; plain text for a language model, CoNLL
        for a tagger, questions for a model of spans; .gz of any.
    target
        The line-aligned targets of TEST.
    references
        Files of further right answers, line N for line N of TEST, several on a line between TABs.
    any_target
        A source on several lines is asked once, and any of its targets is right.
    phones
        Answers are phones between spaces: phone error instead of word and character error.
    scores
        Print each target, or text, after its own log-probability and a TAB, instead of scores of all.
    judge_url
        An OpenAI-compatible address, such as http://127.0.0.1:8000/v1: the language model there judges every answer for
        adequacy and fluency, 1 to 5 (G-Eval). Sources, targets and answers are sent to it.
    judge_model
        The language model's name at --judge-url.
    judge_key
        The environment variable that holds the key for --judge-url.
    out
        Also write a picture (.svg) of the labels that a classifier confuses.
    json
        Print one JSON object instead of a table.
    """
    folders = beside.folders(Path(model))
    searching = {"beam": beam} | vars(searched) | vars(drawn)
    answering = _flags({"any_target": any_target} | searching | beside.given())
    judging = _flags({"references": references, "phones": phones, "judge_url": judge_url} | scored.given())
    if scores:
        from antiphon.commands.scores import run_scores

        idle = [flag for flag in answering if flag not in ("--int8", "--with")] + judging + _flags({"out": out})
        run_scores(folders, test, target, idle, json)
        return

    from antiphon.commands.evaluate import Ways, read_endpoint, run_evaluate

    endpoint = read_endpoint(judge_url, judge_model, judge_key)
    changes, scoring = searching | searched.changes(), scored.scoring(phones)
    ways = Ways(changes, scoring, any_target, references or [], endpoint, answering, judging)
    run_evaluate(folders, test, target, ways, json, out)


@app.command
def compare(
    *paths: str,
    target: str | None = None,
    references: Files = None,
    metric: Literal["bleu", "chrf", "ter", "meteor", "wer", "exact_match"] | None = None,
    bins: str | None = None,
    beam: Number = None,
    train: Files = None,
    samples: int = 1000,
    seed: int = 1,
    level: float = 0.05,
    fail_if_worse: Flag = False,
    scored: Scored = _PLAIN,
    out: Path | None = None,
    json: Flag = False,
) -> None:
    """Compare systems on the same test pairs: the first beside each of the others.

    Scores with paired bootstrap and approximate randomisation; by source length, by rare words, by repetition and
    copying; and in a page or JSON the lines with the largest gains and losses.

    Parameters
    ----------
    paths
        The systems, then the test: antiphon compare A B TEST. A system is a model folder or a file of answers, line N
        for line N of TEST. TEST is TSV, JSONL, or sources with --target; for classifiers texts and labels, for taggers
        CoNLL, as `antiphon evaluate` reads them. Files may be .gz.
    target
        The line-aligned targets of TEST.
    references
        Files of further right answers, line N for line N of TEST, several on a line between TABs.
    metric
        The score that is compared; absent, BLEU, or chrF where no target has four words, and of labels and tags exact
        match, which is accuracy.
    bins
        The longest source of each bin but the last, such as 10,15,20; absent, bins of about as many pairs each.
    beam
        Hypotheses that are kept, for every model; absent, as each model's own [search] says.
    train
        Training pairs, whose target words are counted to say which are rare; absent, the references are counted.
    samples
        Corpora that each test draws.
    seed
        The draws are a function of it.
    level
        A difference is sure where both tests have p below this.
    fail_if_worse
        Exit code 3 if the first system is surely worse than any other; for automatic checks.
    out
        Also write a chart (.svg), or a self-contained page with everything (.html).
    json
        Print one JSON object instead of tables.
    """
    from antiphon.commands.compare import Asking, run_compare
    from antiphon.evaluate.compare import Certainty

    certainty = Certainty(samples, seed, level)
    asking = Asking(target, references or [], metric, bins, beam, train or [], scored.scoring(), certainty)
    run_compare(paths, asking, out, json, fail_if_worse)


@app.command
def judge(
    *paths: str,
    out: Path = Path("judgements.db"),
    target: str | None = None,
    no_reference: Flag = False,
    sample: Number = None,
    seed: Number = None,
    beam: Number = None,
    port: int = 8090,
    open: Flag = False,
    report: Flag = False,
    json: Flag = False,
) -> None:
    """Let people judge systems on a page of this machine: blinded, marked for adequacy and fluency, and ranked.

    Marks are kept in one file as they are made. The same command goes on where it ended, and so does
    `antiphon judge --out FILE`, without asking models again. At the end: means, wins and agreement.

    Parameters
    ----------
    paths
        The test, then the systems: antiphon judge TEST A B. TEST is TSV, JSONL, or sources with --target. A system is
        a model folder or a file of answers.
    out
        The file of judgements.
    target
        The line-aligned targets of TEST.
    no_reference
        Judges do not see the reference.
    sample
        Judge so many pairs, drawn from TEST.
    seed
        The draw, and the orders that judges see, are functions of it; absent, 1.
    beam
        Hypotheses that are kept, for every model; absent, as each model's own [search] says.
    port
        The page's port on 127.0.0.1; it is served nowhere else.
    open
        Open the page in a browser.
    report
        Only tell what is judged so far.
    json
        Tell it as one JSON object.
    """
    from antiphon.commands.judge import Holding, run_judge

    run_judge(paths, Holding(out, target, not no_reference, sample, seed, beam, port), report, open, json)


@app.command
def show(
    model: Path,
    text: str,
    *,
    of: Literal["ends", "cross", "encoder", "decoder"] | None = None,
    layer: int | None = None,
    head: int | None = None,
    symbols: Flag = False,
    beam: Annotated[list[int] | None, Parameter(consume_multiple=(0, 1), negative=(), metavar="[K]")] = None,
    searched: Searched = _AS_THE_MODEL_SAYS,
    beside: Beside = _ALONE,
    gradients: Flag = False,
    out: Path | None = None,
    json: Flag = False,
) -> None:
    """Draw where a model looked while it answered one text, what its search did, or how far gradients reach.

    A page (--out x.html) has every layer and head to choose from. In the terminal and in a picture it is the
    attention that aligns the answer with the source, of the last layer but one, unless another is chosen.

    With --beam every flag of `antiphon predict` that shapes a search shapes the tree, and the answer with a star is the
    one that `antiphon predict` gives with the same flags.

    Parameters
    ----------
    model
        A model folder.
    text
        The input; of a model of spans question TAB paragraph.
    of
        Where the answer looked in the source (cross), the source in itself (encoder), the answer in itself (decoder);
        where a span begins and ends (ends).
    layer
        The layer to draw, from 1.
    head
        The head to draw, from 1; absent, the mean of the heads.
    symbols
        Draw the subwords themselves; absent, they are merged to words.
    beam
        The tree of a beam search, K hypotheses wide; without K as wide as the model's own. Comes after TEXT.
    gradients
        The norm of d h(T) / d h(t) in each recurrent layer, of an LSTM that of c too: vanishes, stable or explodes.
    out
        Also write a self-contained page (.html) or a picture (.svg).
    json
        Print one JSON object with the numbers instead of a drawing.
    """
    from antiphon.commands.show import run_show
    from antiphon.show.attention import Chosen

    searching = _flags(vars(searched) | beside.given())
    if beam is None and searching:
        raise AntiphonError(f"{searching[0]}: it shapes the tree of a search. Add --beam after TEXT, or leave it out.")
    changes = None if beam is None else {"beam": beam[0] if beam else None} | searched.changes()
    run_show(beside.folders(model), text, out, gradients, json, Chosen(of, layer, head, symbols), changes)


@app.command(name="import")
def import_(folder: Path, *, out: Path) -> None:
    """Make a model folder of a Hugging Face folder that holds a GPT-2, a BERT or a RoBERTa. Fetches nothing.

    Parameters
    ----------
    folder
        A folder with config.json, model.safetensors and a tokeniser (tokenizer.json, or vocabulary files).
    out
        The model folder to make.
    """
    from antiphon.commands.importing import run_import

    run_import(folder, out)


@app.command
def verify(model: Path, file: Path | None = None, *, json: Flag = False) -> None:
    """Prove the promises on your own model: batches change nothing, step = all at once, save-load-same, checksums.

    Parameters
    ----------
    model
        A model folder.
    file
        Inputs to prove them on, one a line; absent, the validation pairs of the run, or invented ones.
    json
        Print one JSON object instead of lines.
    """
    from antiphon.commands.verify import run_verify

    run_verify(model, file, json)


@app.command
def doctor(*, json: Flag = False) -> None:
    """Versions, memory, disk, threads, and what is missing.

    Parameters
    ----------
    json
        Print one JSON object instead of lines.
    """
    from antiphon.commands.doctor import run_doctor

    run_doctor(json)
