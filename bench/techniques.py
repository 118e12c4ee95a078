"""What each technique of `transformer-best` is worth: the same short run with one change at a time.

`python bench/techniques.py TRAIN TRAIN_TARGET VALID VALID_TARGET OUT [--steps 1600] [--only NAME ...]`: the best
validation BLEU of each. Runs that are done are not done again, and those that were stopped go on; OUT gets them.
"""

import argparse
from pathlib import Path

import antiphon
from antiphon.training.log import read_log

# Shorter than the recipe, so without R-Drop: it takes twice the time, and shows its worth late.
BASE = (
    "model.encoder.dropout=0.3",
    "model.decoder.dropout=0.3",
    "train.r_drop=0",
    "train.accumulate=1",
    "train.learning_rate=5e-3",
    "train.warmup=200",
    "train.ema=0.995",
    "train.self_check=false",
)
CHANGES: dict[str, tuple[str, ...]] = {
    "as it is": (),
    "another seed": ("seed=2",),
    "a third seed": ("seed=3",),
    "R-Drop 3": ("train.r_drop=3",),
    "AdamW, rate 2e-3": ("train.optimizer=adamw", "train.learning_rate=2e-3"),
    "no moving average": ("train.ema=0",),
    "the best five averaged instead": ("train.ema=0", "train.average=5"),
    "no label smoothing": ("train.label_smoothing=0",),
    "inverse square root": ("train.schedule=inverse_sqrt",),
    "twice the batch, half the steps": ("train.accumulate=2",),
    "subword dropout 0.1": ("data.source.tokenizer.dropout=0.1",),
    "word dropout 0.1": ("train.word_dropout=0.1",),
    "layer drop 0.1": ("model.encoder.layer_drop=0.1", "model.decoder.layer_drop=0.1"),
    "dropout 0.1": ("model.encoder.dropout=0.1", "model.decoder.dropout=0.1"),
    "attention dropout 0.1": ("model.encoder.attention_dropout=0.1", "model.decoder.attention_dropout=0.1"),
    "sinusoidal positions": ("model.encoder.positions=sinusoidal", "model.decoder.positions=sinusoidal"),
    "relative positions": ("model.encoder.positions=relative", "model.decoder.positions=relative"),
    "only the output tied": ("model.tie=output",),
    "norms after": ("model.encoder.norm=after", "model.decoder.norm=after"),
    "RMS norms": ("model.encoder.rms_norm=true", "model.decoder.rms_norm=true"),
    "SwiGLU": ("model.encoder.activation=swiglu", "model.decoder.activation=swiglu"),
}


def best(data: dict[str, str], name: str, steps: int, out: Path) -> tuple[float, float]:
    """The highest BLEU and the lowest loss of all validations, that of an average among them."""
    steps = steps // 2 if "train.accumulate=2" in CHANGES[name] else steps  # as many words in all
    lengths = [f"train.max_steps={steps}", f"train.validate_every={max(steps // 4, 1)}"]
    place = out / name.replace(" ", "-").replace(",", "")
    antiphon.train(recipe="transformer-best", data=data, sets=[*BASE, *lengths, *CHANGES[name]], out=place, quiet=True)
    judged = ("valid", "average_valid")  # the second is of averaged weights
    told = [entry[key] for entry in read_log(place / "log.jsonl") for key in judged if key in entry]
    return max(each["bleu"] for each in told), min(each["loss"] for each in told)


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("files", nargs=4, metavar="FILE")
    asking.add_argument("out", type=Path)
    asking.add_argument("--steps", type=int, default=1600)
    asking.add_argument("--only", nargs="+", choices=[*CHANGES], default=[*CHANGES])
    chosen = asking.parse_args()
    data = dict(zip(("train", "train_target", "valid", "valid_target"), chosen.files, strict=True))
    for name in chosen.only:
        bleu, loss = best(data, name, chosen.steps, chosen.out)
        print(f"{name:<32} BLEU {bleu:5.2f}  loss {loss:.3f}", flush=True)


if __name__ == "__main__":
    main()
