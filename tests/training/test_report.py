"""What a finished folder says of itself."""

import json

from antiphon.data.prepare import prepare
from antiphon.store import load_folder
from antiphon.training.checkpoint import Progress
from antiphon.training.report import describe
from antiphon.training.validate import Judgement


def test_the_report_tells_where_the_model_comes_from(trained):
    report = json.loads((trained / "report.json").read_bytes())
    assert (report["step"], report["skipped_updates"]) == (120, 0)
    assert set(report["validation"]) == {"loss", "perplexity", "accuracy"}
    assert {"made", "antiphon", "torch", "python", "threads", "data", "minutes", "target_tokens", "scores"} <= set(
        report
    )


def test_the_card_shows_what_it_is_and_cannot_be_broken_by_its_samples(trained, tmp_path):
    run = load_folder(trained).run
    prepared = prepare(run.data, trained / "tokens")
    samples = [("a | b", "<script>alert(1)</script>", "back\\slash")]
    describe(tmp_path, run, prepared, Progress(step=1234, seconds=90.0), Judgement(0.5, {"loss": 0.5}, [], samples))
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert (
        "A seq2seq model (recurrent encoder, recurrent decoder), trained with Antiphon on\n190 pairs for 1,234 steps (1.5 minutes)."
        in card
    )
    assert "| a \\| b | &lt;script>alert(1)&lt;/script> | back\\\\slash |" in card
    assert "| loss | 0.5000 |" in card
