"""Trains tiny runs in processes that are killed at chosen instants: `python runner.py < plans.json > ends.json`.

Torch is imported once and every sitting is a fork of this process, so that fifty kills cost seconds. A sitting is
`antiphon train` itself; what kills it is patched in here and unknown to the program.
"""

import errno
import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

COMMON = (
    "train.batch_tokens=120", "train.max_steps=24", "train.save_every=4", "train.validate_every=6", "train.warmup=4",
    "train.learning_rate=0.01", "train.self_check=false",
)  # fmt: skip
WRITING = (*COMMON, "search.beam=2", "search.max_length=12")
RECURRENT = (
    *WRITING, "model.encoder={kind=recurrent,width=6,embedding=5,dropout=0.2}",
    "model.decoder={kind=recurrent,width=7,embedding=7,dropout=0.2,attention={kind=additive,width=5}}",
)  # fmt: skip
TRANSFORMER = (
    *WRITING, "model.encoder={kind=transformer,width=8,layers=2,heads=2,feedforward=9,dropout=0.2,layer_drop=0.4}",
    "model.decoder={kind=transformer,width=8,layers=2,heads=2,feedforward=9,dropout=0.2,attention_dropout=0.1,"
    "layer_drop=0.4}",
)  # fmt: skip
# A state that is carried from window to window, and windows drawn anywhere; accumulation cuts across both.
RUNNING = (
    *WRITING, "train.batch_tokens=60", "model.kind=language_model", "data.window=6", "train.accumulate=2",
    "data.target.tokenizer={kind=words}", "search.sample=true", "train.word_dropout=0.1", "train.r_drop=1.0",
)  # fmt: skip
RUNNING_RECURRENT = (*RUNNING, "model.decoder={kind=recurrent,width=7,embedding=5,layers=2,dropout=0.2}")
RUNNING_TRANSFORMER = (*RUNNING, "model.decoder={kind=transformer,width=8,layers=2,heads=2,feedforward=9}")
# Source and target in one row: every kind of noise, and words of the model's own after sources of any length.
PROMPTED = (
    *WRITING, "model.kind=language_model", "model.reads=pairs", "train.accumulate=2", "train.ema=0.9", "train.r_drop=1.0",
    "train.optimizer=muon",
    "data.source.tokenizer={kind=subwords,size=300,dropout=0.2}", "train.word_dropout=0.1",
    "train.teacher_forcing={p=0.3,schedule=linear,half=8,own=sampled}", "train.corruption={swap=0.1,replace=0.1,drop=0.1}",
    "model.decoder={kind=transformer,width=8,layers=2,heads=2,feedforward=9,dropout=0.2,layer_drop=0.4}",
)  # fmt: skip
# Holes that are dug anew in every epoch, in texts that are spelt anew; validated on others that never change.
DENOISED = (
    *WRITING, "data.denoise={target=whole,rate=0.3,mean_length=2.0}", "model.tie=all", "train.accumulate=2",
    "data.source.tokenizer={kind=subwords,size=300,dropout=0.2}", "train.metric=bleu",
    "train.teacher_forcing={p=0.3,schedule=linear,half=8,own=sampled}", "train.corruption={swap=0.1,replace=0.1,drop=0.1}",
    "model.encoder={kind=transformer,width=8,layers=2,heads=2,feedforward=9,dropout=0.2}",
    "model.decoder={kind=recurrent,width=8,embedding=8,dropout=0.2,attention={kind=additive,width=5}}",
)  # fmt: skip
# Windows that are cut anew, pairs that change places, holes that are drawn anew; frozen parts, layers of other speeds.
MASKED = (
    *COMMON, "train.batch_tokens=60", "model.kind=masked", "data.window=12", "train.accumulate=2", "train.ema=0.9",
    "data.target.tokenizer={kind=subwords,size=300}", "model.whole_words=true", "model.next_sentence=true",
    "model.encoder={kind=transformer,width=8,layers=2,heads=2,feedforward=9,dropout=0.2,segments=2}",
    "train.layer_decay=0.5", 'train.freeze=["encoder.layers.0"]',
)  # fmt: skip
# Labels, some of them weightier; and tags of words that are known by their letters too.
CLASSIFIER = (
    *COMMON, "model.kind=classifier", "data.source.tokenizer={kind=words}", "model.pool=attention", "model.queries=2",
    "model.encoder={kind=recurrent,width=6,embedding=5,dropout=0.2}", "train.balance=0.5", "train.word_dropout=0.1",
    "train.corruption={swap=0.1,replace=0.1,drop=0.1}", "train.accumulate=2", "train.ema=0.9", "train.metric=f1",
    "train.optimizer=muon",
)  # fmt: skip
TAGGER = (
    *COMMON, "model.kind=tagger", "data.source.tokenizer={kind=spelled}", "model.letters=3", "model.output=chain",
    "model.encoder={kind=transformer,width=8,layers=2,heads=2,feedforward=9,dropout=0.2,layer_drop=0.4}",
    "train.label_smoothing=0.0", "train.word_dropout=0.1", "train.accumulate=2", "train.average=3",
)  # fmt: skip
# Spans in paragraphs that are read in windows, with and without an answer.
SPANS = (
    *COMMON, "model.kind=spans", "data.source.tokenizer={kind=words}", "model.no_answer=true", "data.max_length=12",
    "model.encoder={kind=transformer,width=8,layers=2,heads=2,feedforward=9,dropout=0.2,layer_drop=0.4}",
    "data.stride=5", "train.word_dropout=0.1", "train.accumulate=2", "train.ema=0.9", "train.metric=f1",
)  # fmt: skip
WORDS = ("data.source.tokenizer={kind=words}", "data.target.tokenizer={kind=words}")
# All that could make a resumed run differ: dropout of symbols, accumulation, a moving average, an average of the
# best, words of the model's own, noise, two passes.
EVERYTHING = (
    "data.source.tokenizer={kind=subwords,size=300,dropout=0.2}",
    "data.target.tokenizer={kind=subwords,size=300,dropout=0.2}",
    "train.accumulate=2", "train.ema=0.9", "train.average=3",
    "train.teacher_forcing={p=0.3,schedule=linear,half=8,own=sampled}", "train.word_dropout=0.1",
    "train.corruption={swap=0.1,replace=0.1,drop=0.1}", "train.r_drop=1.0",
)  # fmt: skip


def write_pairs(path: Path, count: int = 200, seed: int = 1) -> Path:
    """Words to be answered in reverse, each by its own partner: enough to be learnt, small enough to be quick."""
    draw = random.Random(seed)
    words = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs"}
    lines = set()
    while len(lines) < count:
        chosen = draw.choices(list(words), k=draw.randint(1, 6))
        lines.add(f"{' '.join(chosen)}\t{' '.join(words[word] for word in reversed(chosen))}\n")
    path.write_text("".join(sorted(lines)), encoding="utf-8")
    return path


def write_text(path: Path, lines: int = 120, seed: int = 1) -> Path:
    """A running text with blank lines in it."""
    draw = random.Random(seed)
    words = ["one", "two", "three", "four", "five", "six"]
    path.write_text("".join(" ".join(draw.choices(words, k=draw.randint(0, 6))) + "\n" for _ in range(lines)), "utf-8")
    return path


def write_labels(path: Path, count: int = 150) -> Path:
    """Texts, and whether they hold an odd word."""
    draw, words = random.Random(3), ["one", "two", "three", "four", "five", "six"]
    texts = {" ".join(draw.choices(words, k=draw.randint(1, 6))) for _ in range(count)}
    labelled = [
        f"{text}\t{'odd' if {'one', 'three', 'five'} & set(text.split()) else 'even'}\n" for text in sorted(texts)
    ]
    path.write_text("".join(labelled), encoding="utf-8")
    return path


def write_tags(path: Path, count: int = 100) -> Path:
    """A word a line, and whether it is odd; a blank line after each sentence."""
    draw, words = random.Random(4), ["one", "two", "three", "four", "five", "six"]
    sentences = [draw.choices(words, k=draw.randint(1, 6)) for _ in range(count)]
    tagged = [[f"{word}\t{'B-ODD' if words.index(word) % 2 == 0 else 'O'}\n" for word in each] for each in sentences]
    path.write_text("\n".join("".join(lines) for lines in tagged), encoding="utf-8")
    return path


def write_questions(path: Path, count: int = 120) -> Path:
    """Who has how many of what, in SQuAD's own layout; why, nobody says."""
    draw, names, numbers, things = (
        random.Random(5),
        ["Ada", "Ben", "Cleo"],
        ["two", "six"],
        ["old maps", "cats", "big dogs"],
    )
    paragraphs = []
    for number in range(count):
        told = dict(zip(("Who", "How many", "What"), map(draw.choice, (names, numbers, things)), strict=True))
        context = "so it is . " * draw.randint(0, 3) + "{} has {} {} .".format(*told.values())
        asked = draw.choice(list(told)) if number % 4 else "Why"
        answers = [{"text": told[asked], "answer_start": context.index(told[asked])}] if asked in told else []
        question = {"question": f"{asked} ?", "id": f"q{number}", "answers": answers, "is_impossible": not answers}
        paragraphs.append({"context": context, "qas": [question]})
    content = {"version": "v2.0", "data": [{"title": "things", "paragraphs": paragraphs}]}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def main() -> None:
    # Imported before the forks, so that each is quick; the optimiser would import the last.
    import torch._dynamo  # noqa: F401

    json.dump([_sit(plan) for plan in json.load(sys.stdin)], sys.stdout)


def _sit(plan: dict[str, Any]) -> dict[str, Any]:
    """One sitting: its exit code (negative: the signal that killed it) and what it said."""
    said = Path(plan["out"] + ".said")
    said.touch()  # a kill may come before the first word
    child = os.fork()
    if child == 0:
        _train(plan, said)
    if plan.get("at") == "time":
        time.sleep(plan["seconds"])
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {"code": code, "said": said.read_text(encoding="utf-8")}


def _train(plan: dict[str, Any], said: Path) -> None:
    import antiphon.cli

    stream = said.open("w", encoding="utf-8", buffering=1)
    sys.stdout = sys.stderr = stream
    _arm(plan)
    sets = [part for text in plan["sets"] for part in ("--set", text)]
    sys.argv = ["antiphon", "train", "--train", plan["pairs"], "--out", plan["out"], *sets]
    code = 0
    try:
        antiphon.cli.main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException as error:
        stream.write(f"TRACEBACK {error!r}\n")
        code = 99
    stream.flush()
    os._exit(code)


def _arm(plan: dict[str, Any]) -> None:
    """Do what the plan says at the n-th call of what it names, counted among the files whose path holds `of`."""
    count, wanted, where = 0, plan.get("n", 1), plan.get("of", "")

    def due(path: object) -> bool:
        nonlocal count
        count += where in str(path)
        return where in str(path) and count == wanted

    def strike() -> None:
        match plan.get("do", "kill"):
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "full":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            case "limit":
                resource.setrlimit(resource.RLIMIT_FSIZE, (plan["bytes"], plan["bytes"]))
            case name:
                os.kill(os.getpid(), getattr(signal, name))

    _PATCHES.get(plan.get("at", ""), lambda *_: None)(due, strike)


def _at_replace(due: Callable[[object], bool], strike: Callable[[], None]) -> None:
    real = os.replace
    os.replace = lambda source, target: (strike() if due(target) else None, real(source, target))[1]


def _at_replaced(due: Callable[[object], bool], strike: Callable[[], None]) -> None:
    real = os.replace
    os.replace = lambda source, target: (real(source, target), strike() if due(target) else None)[0]


def _at_fsync(due: Callable[[object], bool], strike: Callable[[], None]) -> None:
    real = os.fsync
    os.fsync = lambda handle: (strike() if due(os.readlink(f"/proc/self/fd/{handle}")) else None, real(handle))[1]


def _at_write(due: Callable[[object], bool], strike: Callable[[], None]) -> None:
    """In the middle of a file: half of it is on the disk already."""
    real = Path.open

    class Half:
        def __init__(self, file: Any, doomed: bool) -> None:
            self.file, self.doomed = file, doomed

        def write(self, content: bytes) -> int:
            if self.doomed:
                self.file.write(content[: len(content) // 2])
                self.file.flush()
                strike()
            return self.file.write(content)

        def __enter__(self) -> "Half":
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    def open_half(path: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        file = real(path, mode, *rest, **named)
        return Half(file, due(path)) if mode == "wb" else file

    Path.open = open_half  # type: ignore[method-assign]


def _at_step(due: Callable[[object], bool], strike: Callable[[], None]) -> None:
    from antiphon.training.learner import Learner

    real = Learner.learn

    def learn(self: Learner, *arguments: Any) -> Any:
        if due(""):
            strike()
        return real(self, *arguments)

    Learner.learn = learn  # type: ignore[method-assign]


_PATCHES = {
    "replace": _at_replace, "replaced": _at_replaced, "fsync": _at_fsync, "write": _at_write, "step": _at_step,
}  # fmt: skip


def sittings(plans: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run the plans in a fresh process, one after the other."""
    import subprocess

    done = subprocess.run(
        [sys.executable, __file__], input=json.dumps(plans), capture_output=True, text=True, timeout=900, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
