"""What every test shares: one thread, because the models are tiny and the tests run side by side; one trained run."""

import os
import shutil
from pathlib import Path

import pytest
import torch

from antiphon.config.toml import load_run
from antiphon.training.loop import train
from tests.laws.runner import WORDS, write_pairs

torch.set_num_threads(1)

SMALL = (
    *WORDS, "model.encoder={kind=recurrent,width=12,embedding=11}", "train.batch_tokens=300", "train.max_steps=120",
    "model.decoder={kind=recurrent,width=14,embedding=13,attention={kind=additive,width=10}}", "train.warmup=20",
    "train.validate_every=60", "train.save_every=50", "train.learning_rate=0.02", "train.self_check=false",
)  # fmt: skip


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets; a test that needs it is skipped where it is absent."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("ANTIPHON_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}: set ANTIPHON_DATA")
    return folder


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder that has learnt a little, with its pairs beside it. To be read only: change a copy, `run_folder`."""
    place = tmp_path_factory.mktemp("trained")
    pairs = write_pairs(place / "pairs.tsv")
    train(load_run(None, None, {"data": {"train": [str(pairs)]}}, list(SMALL)), place / "run")
    return place / "run"


@pytest.fixture
def run_folder(trained: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


@pytest.fixture(scope="module")
def browser():
    """Chromium, where it is installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture
def page(browser, request):
    """An empty page, as wide as `request.param` says; `asked` is all that it loads."""
    context = browser.new_context(viewport={"width": getattr(request, "param", 1280), "height": 900})
    found = context.new_page()
    found.set_default_timeout(60_000)
    asked = []
    found.on("request", lambda request: asked.append(request.url))
    found.asked = asked
    yield found
    context.close()
