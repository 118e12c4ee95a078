"""What every test shares: one thread, because the models are tiny and the tests run side by side."""

import os
from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets; a test that needs it is skipped where it is absent."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("ANTIPHON_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}: set ANTIPHON_DATA")
    return folder
