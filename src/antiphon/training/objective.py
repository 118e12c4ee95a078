"""What is minimised over a batch, by the shape of the model: words, labels, a yes or no to each label, two ends.

P real target places, texts of a classifier · E what the head reads · Y labels · B texts or windows · S their places
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from antiphon.config.schema import Classifier as ClassifierChoice
from antiphon.config.schema import Run, Train
from antiphon.data.batch import Batch
from antiphon.data.store import PairStore
from antiphon.data.vocab import SPECIAL
from antiphon.models.labelling import Classifier, Tagger, each_label, labels_of
from antiphon.models.masked import Masked, part_pairs
from antiphon.models.model import Labeller, Model
from antiphon.models.pointing import Spans, ends_of
from antiphon.training.loss import cross_entropy, r_drop


def places(model: Model, batch: Batch) -> int:
    """What the loss of a batch is divided by: target symbols, or texts."""
    return len(batch.source_BS) if isinstance(model, Classifier | Spans) else batch.target_tokens


def summed_loss(
    model: Model, batch: Batch, states_PE: Tensor, again_PE: Tensor | None, choice: Train, weights_Y: Tensor | None
) -> Tensor:
    """`again_PE` is a second pass, for R-Drop; `weights_Y` are those of labels that do not count alike."""
    if isinstance(model, Spans):
        return _both_ends(model.logits(batch, states_PE), ends_of(batch), choice.label_smoothing)
    head, smoothing = model.head, choice.label_smoothing
    if isinstance(model, Classifier) and model.several:
        return _yes_or_no(head(states_PE), each_label(batch, len(head.bias_V)), smoothing, weights_Y)
    if isinstance(model, Masked) and batch.follows_B is not None:
        return _masked(model, batch, states_PE, smoothing)
    words_P = labels_of(batch) if isinstance(model, Labeller) else batch.target_out_BT[batch.target_mask_BT]
    if isinstance(model, Tagger) and model.chain is not None:
        return -model.chain.log_probability(head(states_PE), words_P, batch.target_mask_BT.sum(1)).sum()
    if again_PE is not None:
        return r_drop(states_PE, again_PE, head.weight_VE, head.bias_V, words_P, smoothing, choice.r_drop)
    if weights_Y is not None:
        return F.cross_entropy(head(states_PE), words_P, weights_Y, reduction="sum", label_smoothing=smoothing)
    return cross_entropy(states_PE, head.weight_VE, head.bias_V, words_P, smoothing)


def _masked(model: Masked, batch: Batch, read: Tensor, smoothing: float) -> Tensor:
    """-log P of hidden words, and of each pair of texts as many times as it has such words: both count alike."""
    assert model.pair is not None, "texts in pairs are asked for"
    assert batch.follows_B is not None, "and told whether they belong together"
    words_PE, texts_BE = part_pairs(batch, read)
    words_P = batch.target_out_BT[batch.target_mask_BT]
    pairs_B = F.cross_entropy(model.pair(texts_BE), batch.follows_B, reduction="none")
    hidden_B = batch.target_mask_BT.sum(1)
    return (
        cross_entropy(words_PE, model.head.weight_VE, model.head.bias_V, words_P, smoothing)
        + pairs_B @ hidden_B.float()
    )


def _both_ends(logits_B2S: Tensor, ends_B2: Tensor, smoothing: float) -> Tensor:
    """-log P(start) - log P(end) of each window; what is smoothed is given to all places that can be pointed at."""
    logs_B2S = logits_B2S.log_softmax(-1)
    loss = -logs_B2S.gather(2, ends_B2.unsqueeze(2)).sum()
    if not smoothing:
        return loss
    open_B2S = logits_B2S.isfinite()
    means_B2 = logs_B2S.masked_fill(~open_B2S, 0.0).sum(-1) / open_B2S.sum(-1)
    return (1 - smoothing) * loss - smoothing * means_B2.sum()


def _yes_or_no(logits_PY: Tensor, wanted_PY: Tensor, smoothing: float, weights_Y: Tensor | None) -> Tensor:
    """-log P of every yes and no; `weights_Y` count the yes of a label so many times."""
    smooth_PY = wanted_PY * (1 - smoothing) + smoothing / 2
    return F.binary_cross_entropy_with_logits(logits_PY, smooth_PY, reduction="sum", pos_weight=weights_Y)


def label_weights(run: Run, train: PairStore, size: int) -> Tensor | None:
    """(1 / frequency)^balance of each label, scaled so that a text weighs one on average; None where all are alike.

    Where a text may have several labels, the weight of a yes: (texts without / texts with it)^balance.
    """
    if not run.train.balance:
        return None
    numbers = np.concatenate([train.target(n) for n in range(len(train))]).astype(np.int64) - len(SPECIAL)
    numbers = numbers[numbers >= 0]  # where a word goes on there is no tag
    # A label that only the validation texts have would weigh without end.
    counts = np.bincount(numbers, minlength=size - len(SPECIAL)).clip(min=1)
    if isinstance(run.model, ClassifierChoice) and run.model.labels == "several":
        weights = ((len(train) - counts).clip(min=1) / counts) ** run.train.balance
    else:
        weights = (1 / counts) ** run.train.balance
        weights *= counts.sum() / (counts * weights).sum()
    return torch.tensor(weights, dtype=torch.float32)
