"""`antiphon doctor`: what this machine has, and what is missing. Imports nothing that may be missing itself."""

import json
import os
import platform
import re
import shutil
import time
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any


def run_doctor(as_json: bool) -> None:
    facts = examine()
    if as_json:
        print(json.dumps(facts))
        return
    for name, value in facts["versions"].items():
        print(f"{name:<16} {value}")
    print(f"{'memory':<16} {facts['memory_gigabytes']:,.1f} GB")
    print(f"{'free disk here':<16} {facts['free_disk_gigabytes']:,.1f} GB")
    if "threads" in facts:
        print(f"{'threads':<16} {facts['threads']} of {facts['cores']} cores")
        print(f"{'matrix products':<16} {facts['gigaflops']:,.0f} GFLOP/s in float32, by {facts['products']}")
        print(f"{'GPU':<16} {facts['gpu']}")
    for problem in facts["problems"]:
        print(f"! {problem}")
    print("Ready: antiphon demo" if not facts["problems"] else "Mend these first.")


def examine() -> dict[str, Any]:
    names = ["antiphon", *needed()]
    versions = {"python": platform.python_version()} | {name: _version(name) for name in names}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    free = shutil.disk_usage(os.getcwd()).free / 1e9
    problems = [f"{name} is missing: pip install {name}" for name, found in versions.items() if found == "missing"]
    if free < 1:
        problems.append(f"only {free:.2f} GB of disk are free here: a run needs room for its checkpoints")
    return {
        "versions": versions,
        "cores": os.cpu_count(),
        "memory_gigabytes": round(memory, 1),
        "free_disk_gigabytes": round(free, 1),
        **({} if versions["torch"] == "missing" else _computing()),
        "problems": problems,
    }


def needed() -> list[str]:
    """The packages that the project says it needs, but for those of an extra."""
    told = [line for line in requires("antiphon") or [] if "extra ==" not in line]
    return [name[0] for name in map(re.compile(r"[\w.-]+").match, told) if name]


def _computing() -> dict[str, Any]:
    import torch

    from antiphon.layers.products import onednn_is_quicker

    return {
        "threads": torch.get_num_threads(),
        "gigaflops": round(matrix_peak(), 1),
        "products": "oneDNN" if onednn_is_quicker() else "MKL" if torch.backends.mkl.is_available() else "BLAS",
        "gpu": "found, not used: Antiphon computes on the CPU" if torch.cuda.is_available() else "none; none is needed",
    }


def matrix_peak(size: int = 1024, repeats: int = 10) -> float:
    """Billions of float32 operations a second in the best of a few matrix products."""
    import torch

    from antiphon.layers.products import quick_products

    a, b = torch.randn(size, size), torch.randn(size, size)
    best = float("inf")
    with quick_products():
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
