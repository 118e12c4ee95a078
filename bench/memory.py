"""Peak memory of training with 32,000 words and 8,192 target tokens a batch, each loop in a process of its own."""

import resource
import subprocess
import sys

VOCABULARY, TOKENS = 32_000, 8192


def measure(which: str) -> None:
    import torch

    from antiphon.build.model import build_model
    from antiphon.config.schema import Train
    from antiphon.training.learner import Learner
    from plain import PlainLoop
    from training import SIZES, a_model, some_batches

    model = a_model(SIZES["small"])
    batches = some_batches(mixed=False, count=2, tokens=TOKENS, size=VOCABULARY)
    if which == "plain":
        loop = PlainLoop(model, VOCABULARY, 64)
        for batch in batches:
            loop.learn(batch)
    else:
        torch.manual_seed(1)
        learner = Learner(build_model(model, VOCABULARY, VOCABULARY), Train(), 1)
        for number, batch in enumerate(batches):
            learner.learn([batch], number, number)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2)


def main() -> None:
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    peaks = {}
    for which in ("plain", "antiphon"):
        done = subprocess.run([sys.executable, __file__, which], check=True, capture_output=True, text=True)
        peaks[which] = float(done.stdout)
        print(f"{which:<9} {peaks[which]:.2f} GiB at the peak", flush=True)
    print(f"ratio     {peaks['antiphon'] / peaks['plain']:.2f}")


if __name__ == "__main__":
    main()
