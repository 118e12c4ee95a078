"""When a run is over, and how far it has come."""

from antiphon.config.schema import Train
from antiphon.training.checkpoint import Progress


def reason_to_stop(choice: Train, progress: Progress) -> str:
    """Which limit is reached, or nothing."""
    if choice.max_steps and progress.step >= choice.max_steps:
        return f"{progress.step:,} steps"
    if choice.max_epochs and progress.epoch >= choice.max_epochs:
        return f"{progress.epoch:,} epochs"
    if choice.max_minutes and progress.seconds >= 60 * choice.max_minutes:
        return f"{choice.max_minutes:g} minutes"
    if choice.patience and progress.since_best >= choice.patience:
        return f"{progress.since_best} validations without a new best"
    return ""


def share_done(choice: Train, progress: Progress) -> float:
    """How much of the run is behind us, by the limit that will end it first."""
    shares = [0.0]
    if choice.max_steps:
        shares.append(progress.step / choice.max_steps)
    if choice.max_epochs:
        shares.append((progress.epoch + progress.index / max(progress.batches, 1)) / choice.max_epochs)
    if choice.max_minutes:
        shares.append(progress.seconds / (60 * choice.max_minutes))
    return min(max(shares), 1.0)
