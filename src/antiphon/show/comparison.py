"""A comparison of systems, shown: tables in the terminal, and one page with everything, lines side by side included."""

from collections.abc import Sequence

from antiphon.evaluate.compare import Against, Report
from antiphon.evaluate.differences import Line, Row
from antiphon.show import lengths
from antiphon.show.page import html_file
from antiphon.show.text import escaped, legible

_HABITS = "Repetition and copying, per cent"


def terminal(report: Report, width: int) -> str:
    """All tables, none wider than `width`, and a sentence a difference; the lines side by side are for the page."""
    parts = [lengths.terminal(report.comparison, width)]
    parts += [_sentence(report, one) for one in report.against]
    parts += ["\n".join(lengths.grid(_rarity(report), _rows(report, report.rarity, "count", "words"), width))]
    parts += ["\n".join(lengths.grid(_HABITS, _rows(report, report.habits, "per cent of", ""), width))]
    return "\n\n".join(parts)


def html_page(report: Report, intro: str) -> str:
    """Everything on one page that loads nothing from elsewhere."""
    chart, style = lengths.article(report.comparison)
    articles = [
        _scores(report),
        chart,
        _article(_rarity(report), "", lengths.table(_rows(report, report.rarity, "count", "words"))),
        _article(_HABITS, "", lengths.table(_rows(report, report.habits, "per cent of", ""))),
        *(_lines(report, one) for one in report.against),
    ]
    return html_file("comparison", "Comparison", intro, "\n".join(articles), style)


def verdict(report: Report, one: Against) -> str:
    """In a word: better, worse, or neither for sure."""
    if max(one.difference.bootstrap, one.difference.randomisation) >= report.certainty.level:
        return "not sure"
    return "better" if one.difference.better > 0 else "worse"


def _sentence(report: Report, one: Against) -> str:
    found, first = one.difference, report.comparison.systems[0].name
    span = f"95 %: {found.low:+z.2f} to {found.high:+z.2f}"
    return (
        f"{legible(first)} less {legible(one.other)}: {found.points:+z.2f} ({span}), "
        f"p {found.bootstrap:.3f} by bootstrap, {found.randomisation:.3f} by randomisation: {verdict(report, one)}"
    )


def _rarity(report: Report) -> str:
    return f"Words of the references, F1, by how often they stand in the {report.counted}"


def _rows(report: Report, rows: Sequence[Row], label: str, counted: str) -> list[list[str]]:
    names = [system.name for system in report.comparison.systems]
    more = ["references"] * (len(rows[0].values) - len(names)) if rows else []
    counts = [[f"{row.count:,}" if row.count is not None else ""] if counted else [] for row in rows]
    body = [
        [row.label, *count, *(f"{value:.2f}" for value in row.values)] for row, count in zip(rows, counts, strict=True)
    ]
    return [[label, *([counted] if counted else []), *names, *more], *body]


def _article(title: str, before: str, table: str) -> str:
    return (
        f'<article>\n<h2><bdi>{escaped(title)}</bdi></h2>\n{before}<div class="wide" tabindex="0" role="region" '
        f'aria-label="{escaped(title)}">\n<table>\n{table}\n</table>\n</div>\n</article>'
    )


def _scores(report: Report) -> str:
    score, certainty = report.comparison.score, report.certainty
    rows = [
        ["system", score.name, "95 of 100", "first less it", "95 of 100", "p bootstrap", "p randomisation", "first is"]
    ]
    for number, (system, (low, high)) in enumerate(zip(report.comparison.systems, report.intervals, strict=True)):
        row = [system.name, f"{system.overall.value:.2f}", f"{low:.2f} to {high:.2f}"]
        if number:
            one = report.against[number - 1]
            found = one.difference
            row += [f"{found.points:+z.2f}", f"{found.low:+z.2f} to {found.high:+z.2f}"]
            row += [f"{found.bootstrap:.3f}", f"{found.randomisation:.3f}", verdict(report, one)]
        rows.append(row + [""] * (8 - len(row)))
    told = (
        f"Both tests draw {certainty.samples:,} corpora (seed {certainty.seed}); "
        f"a difference is sure where both have p below {certainty.level:g}."
    )
    return _article(f"{score.name} of all pairs", f"<p>{escaped(told)}</p>\n", lengths.table(rows))


def _lines(report: Report, one: Against) -> str:
    first = report.comparison.systems[0].name
    parts = [f"<article>\n<h2><bdi>{escaped(first)}</bdi> beside <bdi>{escaped(one.other)}</bdi>, line by line</h2>"]
    parts.append(f'<p class="quiet">Each answer is scored on its own ({escaped(report.comparison.score.name)}).</p>')
    for title, lines in ((f"{first} gains most", one.gains), (f"{first} loses most", one.losses)):
        if lines:
            parts.append(f"<h3><bdi>{escaped(title)}</bdi></h3>")
            parts += [_line(report, one, line) for line in lines]
    return "\n".join([*parts, "</article>"])


def _line(report: Report, one: Against, line: Line) -> str:
    first, *_ = systems = {system.name: system.answers for system in report.comparison.systems}
    references = "".join(_fact("reference", text) for text in report.targets[line.number])
    return (
        f'<section class="pair"><h4>Pair {line.number + 1:,}: {line.gain:+.2f}</h4>\n'
        f'<dl>{_fact("source", report.sources[line.number])}{references}</dl>\n<dl class="answers">'
        f"{_fact(f'{first} ({line.first:.2f})', systems[first][line.number])}"
        f"{_fact(f'{one.other} ({line.other:.2f})', systems[one.other][line.number])}</dl></section>"
    )


def _fact(name: str, text: str) -> str:
    return f"<div><dt><bdi>{escaped(name)}</bdi></dt><dd><bdi>{escaped(text) or '&nbsp;'}</bdi></dd></div>"
