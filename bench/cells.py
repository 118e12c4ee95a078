"""How long each recurrent cell takes to read and to learn, in times of torch's fused LSTM: `python bench/cells.py`.

32 sentences of 30 places, width 256, forwards and backwards; interleaved, the median of the rounds.
"""

import argparse
import statistics
import time
from typing import get_args

import torch

from antiphon.build.model import build_encoder
from antiphon.config.schema import CellName, RecurrentEncoder

ROWS, PLACES, WIDTH = 32, 30, 256


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--cpu-time", action="store_true", help="for one thread on a machine that is not idle")
    chosen = options.parse_args()
    clock = time.process_time if chosen.cpu_time else time.perf_counter
    torch.manual_seed(1)
    words_BSD, mask_BS = torch.randn(ROWS, PLACES, WIDTH), torch.ones(ROWS, PLACES, dtype=torch.bool)
    readers = {
        name: build_encoder(RecurrentEncoder(cell=name, width=WIDTH, embedding=WIDTH, directions=1), carry=False)
        for name in get_args(CellName)
    }
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    for number in range(chosen.rounds + 2):
        for name, reader in readers.items():
            started = clock()
            reader(words_BSD, mask_BS).states_BSM.sum().backward()
            if number >= 2:  # the first rounds warm up
                seconds[name].append(clock() - started)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {chosen.rounds} rounds, times the LSTM's:")
    for name, taken in seconds.items():
        ratios = [own / lstm for own, lstm in zip(taken, seconds["lstm"], strict=True)]
        print(f"  {name:<14}{statistics.median(ratios):5.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
