"""`antiphon compare`: several systems on one test: how sure their difference is, and where it lies."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from antiphon.commands.asking import Asked, read_references
from antiphon.commands.lines import refuse_ending, refuse_idle, say, say_json, terminal
from antiphon.commands.systems import Entry, answer, enter_all
from antiphon.data.corpus import read_rows
from antiphon.errors import AntiphonError, Worse
from antiphon.evaluate.compare import SURE, Against, Certainty, Report, report
from antiphon.evaluate.differences import Line, Row
from antiphon.evaluate.lengths import compare, edges_refused, measure
from antiphon.evaluate.rows import Metric, bleu_doubt, usual_metric
from antiphon.evaluate.scores import PLAIN, Scoring, gather
from antiphon.files import write_text
from antiphon.show.comparison import html_page, verdict
from antiphon.show.comparison import terminal as tell
from antiphon.show.lengths import chart_of
from antiphon.show.lines import svg


@dataclass(frozen=True)
class Asking:
    """What is asked of the systems, beside the test itself."""

    target: str | None = None
    references: Sequence[str] = ()
    metric: Metric | None = None  # absent: exact match of labels and tags; of texts BLEU, or chrF where they are short
    bins: str | None = None
    beam: int | None = None
    train: Sequence[str] = ()
    scoring: Scoring = PLAIN
    certainty: Certainty = SURE


def run_compare(paths: Sequence[str], asking: Asking, out: Path | None, as_json: bool, fail_if_worse: bool) -> None:
    refuse_ending(out)
    edges = None if asking.bins is None else read_edges(asking.bins)
    if len(paths) < 2:
        given = f"only {paths[0]} is given" if paths else "nothing is given"
        raise AntiphonError(
            f"compare: {given}. Name the systems, then the test: antiphon compare runs/a runs/b test.tsv"
        )
    if fail_if_worse and len(paths) < 3:
        raise AntiphonError("--fail-if-worse: one system is worse than none. Name another: the one to hold it to.")
    if asking.metric == "meteor" and asking.scoring.language is None:
        raise AntiphonError("compare.metric: meteor needs a language. Name it: --language de")
    asking.scoring.meteor()
    contest = enter_all("compare", paths[:-1], paths[-1], asking.target, asking.beam)
    asked = contest.asked
    usual = "exact_match" if contest.labels else usual_metric(asked.targets, asking.scoring.tokenize)
    metric = asking.metric or usual
    _refuse_other_scores(asking.scoring, metric)
    further = read_references(asking.references, asked)
    counts = count_words(asking.train) if asking.train else None
    lengths = measure(asked.sources, edges)
    entries = [answer(entry, asked, hidden=as_json) for entry in contest.entries]
    sources, targets = gather(list(zip(asked.sources, asked.targets, strict=True)), further, any_target=False)
    answers = {one.name: one.answers for one in entries}
    comparison = compare(answers, targets, lengths, metric, asking.scoring)
    found = report(comparison, sources, targets, asking.certainty, counts)
    if as_json:
        say_json(as_object(found, entries, asked, metric))
    else:
        asked.say_left_out()
        print(tell(found, terminal().width))
        if metric == "bleu" and (doubt := bleu_doubt(asked.targets, answers.values(), asking.scoring.tokenize)):
            say(doubt)
    if out is not None:
        intro = f"{comparison.pairs:,} pairs of {Path(asked.file).name}"
        write_text(out, svg(chart_of(comparison)) if out.suffix == ".svg" else html_page(found, intro))
        if not as_json:
            print(f"Written: {out}")
    if fail_if_worse:
        refuse_worse(found)


def _refuse_other_scores(scoring: Scoring, metric: Metric) -> None:
    """What another metric would be told; one is compared."""
    told = {"--language": scoring.language, "--wordnet": scoring.wordnet, "--function-words": scoring.function_words}
    if metric != "meteor":
        idle = [flag for flag, given in told.items() if given is not None]
        refuse_idle(idle, f"it is for --metric meteor, and {metric} is compared")
    if metric not in ("bleu", "meteor"):
        cut = ["--tokenize"] if scoring.tokenize != PLAIN.tokenize else []
        refuse_idle(cut, f"it is for --metric bleu and meteor, and {metric} is compared")


def refuse_worse(found: Report) -> None:
    """The exit code says so where the first system is worse than any other, and not by luck."""
    first, level = found.comparison.systems[0].name, found.certainty.level
    worse = [f"{one.other} ({one.difference.points:+.2f})" for one in found.worse()]
    if worse:
        raise Worse(
            f"{first} is worse than {', '.join(worse)}: {found.comparison.score.name}, p < {level:g} by both tests."
        )


def read_edges(bins: str) -> list[int]:
    try:
        return [int(edge) for edge in bins.split(",")]
    except ValueError:
        raise edges_refused(bins) from None


def count_words(train: Sequence[str]) -> Counter[str]:
    """How often each word stands in the targets of training pairs."""
    try:
        rows = [row.pair.target for row in read_rows(train, [], "--train") if row.fault is None]
    except AntiphonError as error:  # which names the other file as a run file would
        pairs = "of two line-aligned files, name the other in --train_target."
        raise AntiphonError(str(error).replace(pairs, "join two line-aligned files: paste a.en a.de.")) from None
    return Counter(word for target in rows for word in target.split())


def as_object(found: Report, entries: Sequence[Entry], asked: Asked, metric: Metric) -> dict[str, Any]:
    comparison = found.comparison
    return {
        "test": asked.file,
        "pairs": comparison.pairs,
        "left_out": asked.left_out,
        "metric": metric,
        "signature": comparison.score.signature,
        "unit": comparison.lengths.unit,
        "bins": [{"from": one.shortest, "to": one.longest, "pairs": len(one.pairs)} for one in comparison.lengths.bins],
        "certainty": asdict(found.certainty),
        "systems": [
            {
                "name": entry.name,
                "path": entry.path,
                "kind": "answers" if entry.model is None else "model",
                "beam": entry.search.beam if entry.search else None,
                "seconds": entry.seconds,
                "overall": system.overall.value,
                "interval": interval,
                "by_length": [score.value for score in system.by_length],
            }
            for entry, system, interval in zip(entries, comparison.systems, found.intervals, strict=True)
        ],
        "against": [
            {
                "other": one.other,
                **asdict(one.difference),
                "first_is": verdict(found, one),
                "gains": [_line(found, one, line) for line in one.gains],
                "losses": [_line(found, one, line) for line in one.losses],
            }
            for one in found.against
        ],
        "by_rarity": {"counted": found.counted, "rows": [_row(row) for row in found.rarity]},
        "habits": [_row(row) for row in found.habits],
    }


def _row(row: Row) -> dict[str, Any]:
    counted = {} if row.count is None else {"words": row.count}
    return {"label": row.label, **counted, "values": row.values}


def _line(found: Report, one: Against, line: Line) -> dict[str, Any]:
    answers = {system.name: system.answers[line.number] for system in found.comparison.systems}
    return {
        "pair": line.number + 1,
        "source": found.sources[line.number],
        "references": found.targets[line.number],
        "first": {"answer": answers[found.comparison.systems[0].name], "score": line.first},
        "other": {"answer": answers[one.other], "score": line.other},
    }
