"""What pre-training is worth: a classifier from a masked model and from the same one untrained, by share of labels.

`python bench/labels.py TRAIN VALID TEST OUT NAME=FOLDER ...`: each named folder is started from, with 5 to 100 % of the
labels. Runs that are done are not done again. OUT gets runs, a table and a chart.
"""

import gzip
import statistics
import sys
from pathlib import Path

import antiphon
from antiphon.files import write_text
from antiphon.show.lines import Chart, Line, svg

SEEDS = {5: 3, 10: 3, 25: 1, 50: 1, 100: 1}  # by share of labels, in per cent: few labels are a matter of luck
# The mean of all places: the one in front knows only which sentence follows, and a small model hardly learns that.
CHOICES = (
    "model.pool=mean",
    "train.max_steps=600",
    "train.validate_every=50",
    "train.patience=4",
)


def some(path: Path, share: int, seed: int, out: Path) -> tuple[Path, int]:
    """Every so many-th line, from another one on for every seed."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    step = 100 // share
    chosen = lines[seed % step :: step]
    file = out / f"train-{share}-{seed}.txt"
    write_text(file, "\n".join(chosen) + "\n")
    return file, len(chosen)


def accuracy(folder: str, train: Path, valid: Path, test: Path, seed: int, out: Path) -> float:
    report = out / "accuracy.txt"
    if not report.exists():
        data = {"train": str(train), "valid": str(valid)}
        sets = [f"train.start.encoder={folder}", f"seed={seed}", *CHOICES, "train.self_check=false"]
        model = antiphon.train(recipe="bert-classifier", data=data, sets=sets, out=out / "run", quiet=True)
        lines = gzip.decompress(test.read_bytes()).decode().splitlines()
        pairs = [(text, label) for label, _, text in (line.partition(" ") for line in lines)]
        score = next(score for score in model.mark(pairs).scores if score.name == "accuracy")
        write_text(report, f"{score.value}\n")
    return float(report.read_text())


def main(train: Path, valid: Path, test: Path, out: Path, starts: dict[str, str]) -> None:
    means: dict[str, list[float]] = {name: [] for name in starts}
    counts = []
    for share, seeds in SEEDS.items():
        for name, folder in starts.items():
            found = []
            for seed in range(1, seeds + 1):
                place = out / f"{name}-{share}-{seed}".replace(" ", "-")
                place.mkdir(parents=True, exist_ok=True)
                file, count = some(train, share, seed, place)
                found.append(accuracy(folder, file, valid, test, seed, place))
            means[name].append(statistics.mean(found))
            spread = " ".join(f"{value:.2f}" for value in found)
            print(f"{share:>3} %  {count:>5} labels  {name:<16} {means[name][-1]:.2f}  ({spread})", flush=True)
        counts.append(f"{count:,} labels")
    places = [f"{share} %" for share in SEEDS]
    lines = [Line(name, values) for name, values in means.items()]
    chart = Chart("accuracy by share of labels", "labels to learn from", "accuracy, %", places, counts, lines)
    write_text(out / "labels.svg", svg(chart))


if __name__ == "__main__":
    *files, out = map(Path, sys.argv[1:5])
    main(files[0], files[1], files[2], out, dict(named.split("=", 1) for named in sys.argv[5:]))
