"""Scheduled sampling: in training the decoder reads its own words here and there, as it will when it answers.

B batch · N rows that read a word of their own · S, T source and target places · R places of a row that holds both
V words
"""

import math
from dataclasses import replace
from typing import Any, Literal, assert_never

import torch
from torch import Tensor

from antiphon.config.schema import TeacherForcing
from antiphon.data.batch import FORCING, OWN, Batch, join
from antiphon.data.vocab import PAD, START, UNKNOWN
from antiphon.layers.once import once
from antiphon.models.model import Writer
from antiphon.models.writing import LanguageModel
from antiphon.search.rules import forbid
from antiphon.search.sample import draw_words
from antiphon.training.noise import Draws


def forcing(step: int, choice: TeacherForcing) -> float:
    """The probability of the true word at update number `step`: p + (1 - p) f(step), and f(half) = 1/2."""
    match choice.schedule:
        case "held":
            return choice.p
        case "linear":
            left = max(0.0, 1 - step / (2 * choice.half))
        case "exponential":
            left = 0.5 ** (step / choice.half)
        case "inverse_sigmoid":
            # k / (k + exp(step / k)) with k ln k = half, written so that nothing overflows.
            left = 0.5 - 0.5 * math.tanh((step - choice.half) / (2 * _steepness(choice.half)))
        case _:
            assert_never(choice.schedule)
    return choice.p + (1 - choice.p) * left


def _steepness(half: int) -> float:
    """The k with k ln k = half, by Newton's method from above, where it only ever falls."""
    k, before = 1.0 + half, math.inf
    while k < before:
        before, k = k, (k + half) / (math.log(k) + 1)
    return k


def with_own_words(model: Writer, batch: Batch, p: float, own: Literal["best", "sampled"], draws: Draws) -> Batch:
    """The batch in which each word the decoder reads is the true one with probability p, and else the model's own.

    No gradient flows through that choice (Bengio et al., 2015), so the words can be chosen first, word by word and
    without gradient, and learnt from afterwards like any others, all at once. The model writes them as it answers:
    without dropout, never `<pad>`, `<s>` or `<unk>`. An end that it writes too early is read like any word.
    """
    if p == 1.0:
        return batch
    own_BT = torch.from_numpy(draws.uniform(FORCING, *batch.target_in_BT.shape) >= p)
    own_BT[:, 0] = False  # the start symbol is nobody's word
    own_BT = own_BT.to(batch.target_in_BT.device) & batch.target_mask_BT
    rows_N = own_BT.any(dim=1).nonzero().flatten()
    if not len(rows_N):
        return batch
    chances_BT = torch.from_numpy(draws.uniform(OWN, *own_BT.shape)) if own == "sampled" else None
    target_in_BT, training = batch.target_in_BT.clone(), model.training
    model.eval()
    try:
        with torch.no_grad(), once():
            chances_NT = None if chances_BT is None else chances_BT[rows_N.cpu()]
            if isinstance(model, LanguageModel) and model.pairs:
                target_in_BT[rows_N] = _roll_out_joined(model, batch.some(rows_N), own_BT[rows_N], chances_NT)
            else:
                state = model.start(batch.source_BS[rows_N], batch.mask_BS[rows_N])
                target_in_BT[rows_N] = _roll_out(model, state, target_in_BT[rows_N], own_BT[rows_N], chances_NT)
    finally:
        model.train(training)
    return replace(batch, target_in_BT=target_in_BT)


def _roll_out_joined(model: LanguageModel, batch: Batch, own_NT: Tensor, chances_NT: Tensor | None) -> Tensor:
    """The same where source and target are one row: all before the first own word is read at once."""
    joined, real_NT = join(batch), batch.target_mask_BT
    own_NR = torch.zeros_like(joined.mask_BR)
    own_NR[joined.learnt_BR] = own_NT[real_NT]
    chances_NR = None
    if chances_NT is not None:
        chances_NR = chances_NT.new_zeros(own_NR.shape)
        chances_NR[joined.learnt_BR.cpu()] = chances_NT[real_NT.cpu()]
    first = int(own_NR.any(dim=0).nonzero().min())
    state = model.after(joined.words_BR[:, : first - 1], joined.words_BR[:, first - 1])
    words_NR = _roll_out(model, state, joined.words_BR, own_NR, chances_NR, first)
    target_in_NT = batch.target_in_BT.clone()
    target_in_NT[real_NT] = words_NR[joined.learnt_BR]
    target_in_NT[:, 0] = batch.target_in_BT[:, 0]
    return target_in_NT


def _roll_out(
    model: Writer, state: Any, words_NT: Tensor, own_NT: Tensor, chances_NT: Tensor | None, first: int = 1
) -> Tensor:
    """The words as they are read, from the left: an own one follows from all that were chosen before it."""
    words_NT = words_NT.clone()
    last = int(own_NT.any(dim=0).nonzero().max())
    for place in range(first, last + 1):
        log_probabilities_NV, state = model.step(words_NT[:, place - 1], state)
        log_probabilities_NV = forbid(log_probabilities_NV, [PAD, START, UNKNOWN])
        if chances_NT is None:
            own_N = log_probabilities_NV.argmax(dim=1)
        else:
            weights_NV = log_probabilities_NV.double().cpu().exp()
            # Weights that are no numbers any more point behind the vocabulary; the loss will tell, and be skipped.
            own_N1 = draw_words(weights_NV, chances_NT[:, place : place + 1]).clamp(max=weights_NV.shape[1] - 1)
            own_N = own_N1.squeeze(1).to(words_NT.device)
        words_NT[:, place] = torch.where(own_NT[:, place], own_N, words_NT[:, place])
    return words_NT
