"""`antiphon doctor`: what this machine has, and what is missing."""

import os
import platform
import shutil
import time
from importlib.metadata import PackageNotFoundError, version

import torch

from antiphon.commands.lines import say_json

_CORE = ("antiphon", "torch", "numpy", "safetensors", "sentencepiece", "sacrebleu", "pydantic", "Babel")


def run_doctor(as_json: bool) -> None:
    facts = examine()
    if as_json:
        say_json(facts)
        return
    for name, value in facts["versions"].items():
        print(f"{name:<16} {value}")
    print(f"{'threads':<16} {facts['threads']} of {facts['cores']} cores")
    print(f"{'matrix products':<16} {facts['gigaflops']:,.0f} GFLOP/s in float32")
    print(f"{'GPU':<16} {facts['gpu']}")
    print(f"{'free disk here':<16} {facts['free_disk_gigabytes']:,.1f} GB")
    for problem in facts["problems"]:
        print(f"! {problem}")
    print("Ready: antiphon demo" if not facts["problems"] else "Mend these first.")


def examine() -> dict:  # type: ignore[type-arg]
    versions = {"python": platform.python_version()} | {name: _version(name) for name in _CORE}
    free = shutil.disk_usage(os.getcwd()).free / 1e9
    problems = [f"{name} is missing: pip install {name}" for name, found in versions.items() if found == "missing"]
    if free < 1:
        problems.append(f"only {free:.2f} GB of disk are free here: a run needs room for its checkpoints")
    return {
        "versions": versions,
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "gigaflops": round(matrix_peak(), 1),
        "gpu": "found, not used: Antiphon computes on the CPU" if torch.cuda.is_available() else "none; none is needed",
        "free_disk_gigabytes": round(free, 1),
        "problems": problems,
    }


def matrix_peak(size: int = 1024, repeats: int = 10) -> float:
    """Billions of float32 operations a second in the best of a few matrix products."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - started)
    return 2 * size**3 / best / 1e9


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
