"""`antiphon judge`: people's judgements of several systems, on a page of this machine, and the report on them."""

import webbrowser
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from antiphon.commands.judging import Server
from antiphon.commands.lines import refuse_idle, say_json
from antiphon.commands.systems import answer, enter_all
from antiphon.errors import AntiphonError
from antiphon.evaluate.judgements import Mean, Verdict, judge_all
from antiphon.evaluate.study import Study

_PORTS = 65535


@dataclass(frozen=True)
class Holding:
    """How a study is held."""

    out: Path
    target: str | None = None
    reference: bool = True
    sample: int | None = None
    seed: int | None = None
    beam: int | None = None
    port: int = 8090


def run_judge(paths: Sequence[str], holding: Holding, report: bool, open_page: bool, as_json: bool) -> None:
    if not 0 <= holding.port <= _PORTS:
        raise AntiphonError(f"--port {holding.port}: there is no such port. Name one up to {_PORTS:,}, such as 8091.")
    if report and paths:
        raise AntiphonError("judge: a report needs no systems. Name the study only: antiphon judge --report --out FILE")
    if not paths:
        idle = [f"--{name}" for name in ("target", "sample", "seed", "beam") if getattr(holding, name) is not None]
        idle += [] if holding.reference else ["--no-reference"]
        refuse_idle(idle, "a study that is there keeps its pairs and answers")
    study = begin(paths, holding) if paths else Study.open(holding.out)
    try:
        if not report:
            serve(study, holding, open_page)
        tell(study, as_json)
    finally:
        study.close()


def begin(paths: Sequence[str], holding: Holding) -> Study:
    if len(paths) < 2:
        raise AntiphonError(
            f"judge: only {paths[0]} is given. Name the test, then the systems: antiphon judge test.tsv runs/a runs/b"
        )
    if holding.sample is not None and holding.sample < 1:
        raise AntiphonError(f"judge.sample: {holding.sample} is not allowed: at least 1.")
    contest = enter_all("judge", paths[1:], paths[0], holding.target, holding.beam)
    asked = contest.asked
    entries = [answer(entry, asked, hidden=False) for entry in contest.entries]
    asked.say_left_out()
    answers = {entry.name: entry.answers for entry in entries}
    references = asked.targets if holding.reference else None
    seed = 1 if holding.seed is None else holding.seed
    return Study.create(holding.out, asked.sources, references, answers, holding.sample, seed)


def serve(study: Study, holding: Holding, open_page: bool) -> None:
    """Until the one who started it ends it."""
    try:
        server = Server(study, holding.port)
    except OSError as error:
        raise AntiphonError(
            f"judge.port: {holding.port} cannot be listened on ({error.strerror}). Name another: --port 8091"
        ) from None
    with server:
        print(f"{study.pairs:,} pairs, {len(study.systems)} systems, kept in {study.path}")
        print(f"Judge at {server.address} (this machine only). Ctrl-C ends it; the same command goes on.", flush=True)
        if open_page:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


def tell(study: Study, as_json: bool) -> None:
    marks = study.marks()
    verdict = judge_all(marks, study.systems)
    if as_json:
        say_json({"study": str(study.path), "pairs": study.pairs, "systems": study.systems, **asdict(verdict)})
    elif not marks:
        print("Nothing is judged yet.")
    else:
        print("\n".join(lines_of(verdict, study.pairs)))


def lines_of(verdict: Verdict, pairs: int) -> list[str]:
    """The report for people."""
    lines = [f"{name} judged {count:,} of {pairs:,} pairs" for name, count in verdict.judges]
    width = max(len("system"), *(len(one.name) for one in verdict.standings))
    lines += ["", f"{'system':<{width}}  {'adequacy':<18}  {'fluency':<18}  {'rank':<18}  marks"]
    for one in verdict.standings:
        cells = "  ".join(f"{_span(mean):<18}" for mean in (one.adequacy, one.fluency, one.rank))
        lines.append(f"{one.name:<{width}}  {cells}  {one.marks:>5}")
    lines.append("")
    for wins in verdict.wins:
        counts = f"{wins.wins} wins, {wins.ties} ties, {wins.losses} losses"
        lines.append(f"{wins.one} against {wins.other}: {counts}{_percent(wins.share)}")
    agreement = verdict.agreement
    if agreement.pairs:
        shown = ", ".join(
            f"{name} {value:.2f}" if value is not None else f"{name} cannot be told"
            for name, value in (
                ("adequacy", agreement.adequacy), ("fluency", agreement.fluency), ("ranking", agreement.ranking)
            )
        )  # fmt: skip
        lines += ["", f"Agreement on {agreement.pairs:,} pairs that several judged (1 always, 0 as by chance): {shown}"]
    else:
        lines += ["", "No pair is judged by more than one, so there is no agreement to tell."]
    return lines


def _span(mean: Mean) -> str:
    return f"{mean.value:.2f} ({mean.low:.2f}-{mean.high:.2f})"


def _percent(share: Mean | None) -> str:
    if share is None:
        return ""
    return f"; {100 * share.value:.0f} % of what is not tied (95 %: {100 * share.low:.0f} to {100 * share.high:.0f})"
