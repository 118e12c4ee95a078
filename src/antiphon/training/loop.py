"""Training, top to bottom: data, model, self-check, steps, validations, checkpoints, the finished folder."""

import time
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console

from antiphon.build.model import build_model
from antiphon.config.schema import Run
from antiphon.data.prepare import Prepared, prepare
from antiphon.errors import AntiphonError, Interrupted
from antiphon.labelling.opening import Answering, open_pipeline
from antiphon.show.curves import loss_curve
from antiphon.store import LOG, WEIGHTS, load_folder, save_settings, save_weights, weights_of
from antiphon.training.batches import batches_from
from antiphon.training.checkpoint import Progress, load_best, load_newest, save_best, save_checkpoint
from antiphon.training.folder import StopOnSignal, opened, refuse_other_data, tokens_folder
from antiphon.training.learner import Learner, Update
from antiphon.training.limits import reason_to_stop, share_done
from antiphon.training.log import Log, duration, gradient, read_log
from antiphon.training.objective import label_weights
from antiphon.training.report import describe
from antiphon.training.selfcheck import self_check
from antiphon.training.starting import given_tokenizers, start_from_others
from antiphon.training.validate import Judgement, judge

_LOG_EVERY = 10  # steps
_GIVE_UP = 10  # steps in a row without a finite loss


def train(run: Run, out: Path, fresh: bool = False, console: Console | None = None) -> Answering:
    """Train, or go on training, the run in folder `out`; the model that is best on the validation pairs comes back."""
    with opened(run, out, fresh):
        log = Log(out / LOG, console)
        newest = load_newest(out, log.say)
        given = given_tokenizers(run, None if newest is None else out)
        if newest is not None:
            refuse_other_data(run, newest[1].data, out, given)
        prepared = prepare(run.data, tokens_folder(out), log.say, run.rows, given)
        run = resolve(run, prepared)
        save_settings(out, run, prepared.source, prepared.target)
        for line in prepared.report.lines():
            log.say(line)
        torch.manual_seed(run.seed)
        model = build_model(run.model, prepared.source.size, prepared.target.size)
        if newest is None:
            for line in start_from_others(model, run):
                log.say(line)
        learner = Learner(model, run.train, run.seed, label_weights(run, prepared.train, prepared.target.size))
        training = Training(run, out, prepared, learner, log, Progress(prepared.fingerprint))
        if newest is None:
            training.begin()
        else:
            tensors, training.progress = newest
            training.resume(tensors)
        with log, StopOnSignal() as stop:
            training.go_on(stop)
        training.finish()
        loaded = load_folder(out)
        return open_pipeline(loaded.model, loaded.source, loaded.target, loaded.run)


def resolve(run: Run, prepared: Prepared) -> Run:
    """Fill in what only the data can tell."""
    if run.search.max_ratio or not prepared.length_ratio:
        return run
    return run.model_copy(update={"search": run.search.model_copy(update={"max_ratio": prepared.length_ratio})})


@dataclass
class Training:
    """A run under way."""

    run: Run
    out: Path
    prepared: Prepared
    learner: Learner
    log: Log
    progress: Progress

    @property
    def pipeline(self) -> Answering:
        return open_pipeline(self.learner.model, self.prepared.source, self.prepared.target, self.run)

    @property
    def due(self) -> bool:
        """Whether there is another step to take."""
        return not (self.progress.finished or reason_to_stop(self.run.train, self.progress))

    def begin(self) -> None:
        parameters = sum(value.numel() for value in weights_of(self.learner.model).values())
        self.log.say(f"Model: {parameters:,} parameters. Run folder: {self.out}")
        self.log.forget_after(-1)
        if self.run.train.self_check:
            # Texts get their sources when they are loaded; those of the validation texts stand in the store.
            store = self.prepared.valid if self.run.data.denoise.on else self.prepared.train
            verdict = self_check(self.pipeline, store, self.run.train.learning_rate)
            self.log.say(verdict.line(), None if verdict.well else "bold red")
            self.log.record({"step": 0, "self_check": vars(verdict) | {"well": verdict.well}})

    def resume(self, tensors: dict[str, torch.Tensor]) -> None:
        if not self.learner.fits(tensors):
            raise AntiphonError(
                f"{self.out}: begun by another version of Antiphon, whose weights have other names. "
                "Choose another --out, or start over there with --fresh, which deletes it."
            )
        self.learner.restore(tensors, self.progress.updates)
        self.log.forget_after(self.progress.step)
        before, steps = self.progress.max_steps, self.run.train.max_steps
        other = self.run.train.schedule == "cosine" and before not in (0, steps)
        how = f"with the rate of {steps:,} steps instead of {before:,}" if other else "exactly as if never stopped"
        self.log.say(f"Going on from step {self.progress.step:,} in {self.out}, {how}.")
        if self.progress.finished and not reason_to_stop(self.run.train, self.progress):
            self.progress.finished = ""

    def go_on(self, stop: StopOnSignal) -> None:
        """Step after step until a limit, or until someone asks to stop."""
        choice, progress = self.run.train, self.progress
        progress.max_steps = choice.max_steps
        batches = batches_from(self.run, self.prepared, progress)
        sitting = time.monotonic() - progress.seconds
        while self.due:
            group = [next(batches) for _ in range(choice.accumulate)]
            update = self.learner.learn([batch for batch, *_ in group], progress.step, progress.updates)
            _, progress.epoch, progress.index, progress.batches = group[-1]
            progress.step += 1
            progress.updates += update.taken
            progress.tokens += update.tokens
            progress.seconds = time.monotonic() - sitting
            self._note(update)
            if progress.step % choice.validate_every == 0:
                self.validate()
                progress.seconds = time.monotonic() - sitting
            if progress.step % choice.save_every == 0 or stop.signal:
                self.save()
            if stop.signal:
                raise Interrupted(
                    f"Stopped at step {progress.step:,} and saved. The same command goes on from there.",
                    128 + stop.signal,
                )

    def _note(self, update: Update) -> None:
        progress = self.progress
        progress.skipped_in_a_row = 0 if update.taken else progress.skipped_in_a_row + 1
        if update.taken:
            progress.clipped += update.clipped
            progress.norms = [*progress.norms, update.gradient_norm][-_LOG_EVERY:]
        felt = gradient(progress.norms, self.run.train.clip)
        if update.forcing < 1:
            felt["teacher_forcing"] = update.forcing
        if not update.taken:
            self._skip()
        elif progress.step % _LOG_EVERY == 0:
            entry = {"step": progress.step, "loss": update.loss, "rate": update.rate} | felt
            self.log.record(entry | {"tokens": progress.tokens, "seconds": round(progress.seconds, 2)})
        speed = progress.tokens / max(progress.seconds, 1e-9)
        done = share_done(self.run.train, progress)
        left = progress.seconds * (1 - done) / max(done, 1e-9)
        self.log.advance(progress.step, update.loss, felt, speed, done, left)

    def _skip(self) -> None:
        progress = self.progress
        progress.skipped += 1
        self.log.say(f"step {progress.step:,}: the loss or its gradient is not finite; this update is skipped.", "red")
        self.log.record({"step": progress.step, "skipped": True})
        if progress.skipped_in_a_row >= _GIVE_UP:
            raise AntiphonError(
                f"train.learning_rate: {self.run.train.learning_rate} gave no finite loss {_GIVE_UP} times in a row "
                f"(steps up to {progress.step:,}). Lower it, or raise train.warmup, and start over with --fresh."
            )

    def validate(self) -> None:
        """Judge the weights on the validation pairs, and keep them if they are the best so far."""
        progress = self.progress
        with self.learner.judged() as model:
            judgement = judge(self.pipeline, self.prepared, self.run.train.metric)
            best = self._rank(judgement, weights_of(model))
        entry = {"step": progress.step, "valid": judgement.numbers, "seconds": round(progress.seconds, 2)}
        self.log.record(entry)
        self.log.validation(entry, judgement.samples, best)

    def _rank(self, judgement: Judgement, weights: dict[str, torch.Tensor]) -> bool:
        progress, kept = self.progress, max(self.run.train.average, 1)
        best = progress.kept is None or judgement.value < progress.kept
        progress.since_best = 0 if best else progress.since_best + 1
        progress.validated = progress.step
        progress.best = sorted([*progress.best, (judgement.value, progress.step)])[:kept]
        if kept > 1 and progress.step in [step for _, step in progress.best]:
            save_best(self.out, weights, progress.step)
        if best:
            self._keep(weights, judgement)
        return best

    def _keep(self, weights: dict[str, torch.Tensor], judgement: Judgement) -> None:
        self.progress.kept = judgement.value
        save_weights(self.out, weights, self.run, self.prepared.source, self.prepared.target)
        describe(self.out, self.run, self.prepared, self.progress, judgement)

    def save(self) -> None:
        if not (self.out / WEIGHTS).exists():  # so that the run can be tried before its first validation
            with self.learner.judged() as model:
                save_weights(self.out, weights_of(model), self.run, self.prepared.source, self.prepared.target)
        save_checkpoint(self.out, self.learner.tensors(), self.progress)

    def finish(self) -> None:
        """The last validation, the average of the best, the report, the curve."""
        progress = self.progress
        if not progress.finished:
            if progress.validated != progress.step:
                self.validate()
            self._average()
            progress.finished = reason_to_stop(self.run.train, progress)
            self.save()
        _, step = progress.best[0]
        speed = progress.tokens / max(progress.seconds, 1e-9)
        self.log.say(
            f"Finished: {progress.finished}, {duration(progress.seconds)}, {speed:,.0f} target tokens/s. "
            f"Best at step {step:,}. {progress.clipped / max(progress.updates, 1):.0%} of the updates were clipped."
        )
        entries = read_log(self.out / LOG)
        trained = [(entry["step"], entry["loss"]) for entry in entries if "loss" in entry]
        valid = [(entry["step"], entry["valid"]["loss"]) for entry in entries if "valid" in entry]
        if self.log.console is not None and len(trained) > 1:
            self.log.say(loss_curve(trained, valid, min(self.log.console.width, 80), 15))

    def _average(self) -> None:
        """The mean of the best weights, kept only where it is better than the best of them."""
        steps = [step for _, step in self.progress.best]
        if self.run.train.average < 2 or len(steps) < 2:
            return
        parts = load_best(self.out, steps, self.log.say)
        if len(parts) < 2:
            return
        mean = {name: torch.stack([part[name] for part in parts]).mean(0) for name in parts[0]}
        self.learner.ema, kept = mean, self.learner.ema
        with self.learner.judged():
            judgement = judge(self.pipeline, self.prepared, self.run.train.metric)
        self.learner.ema = kept
        assert self.progress.kept is not None, "the best of them is"
        better = judgement.value < self.progress.kept
        self.log.record(
            {"step": self.progress.step, "average_of": steps, "average_valid": judgement.numbers, "kept": better}
        )
        self.log.say(
            f"The average of {len(steps)} best: {judgement.line()}: {'kept' if better else 'the best alone is better'}."
        )
        if better:
            self._keep(mean, judgement)
