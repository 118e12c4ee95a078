"""A whole Transformer against torch.nn.Transformer with the same weights."""

import pytest
import torch
from torch import nn

from antiphon.build.model import build_model
from antiphon.config.schema import Seq2Seq, TransformerStack
from antiphon.data.batch import make_batch
from antiphon.layers.positions import Sinusoidal


def _same_layer(ours: nn.Module, theirs: nn.Module, decoder: bool) -> None:
    theirs.self_attn.in_proj_weight = ours.attention.projection.weight
    theirs.self_attn.in_proj_bias = ours.attention.projection.bias
    theirs.self_attn.out_proj = ours.attention.out
    theirs.linear1, theirs.linear2 = ours.feedforward.inner, ours.feedforward.out
    norms = [ours.around_attention.norm, ours.around_feedforward.norm]
    if decoder:
        cross = ours.memory_attention
        theirs.multihead_attn.in_proj_weight = nn.Parameter(torch.cat([cross.query.weight, cross.memory.weight]))
        theirs.multihead_attn.in_proj_bias = nn.Parameter(torch.cat([cross.query.bias, cross.memory.bias]))
        theirs.multihead_attn.out_proj = cross.out
        norms.insert(1, ours.around_memory_attention.norm)
    for number, norm in enumerate(norms, start=1):
        setattr(theirs, f"norm{number}", norm)


@pytest.mark.parametrize("norm", ["before", "after"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_encoder_decoder_is_torchs_transformer(norm, activation):
    stack = TransformerStack(width=12, heads=3, layers=2, feedforward=20, norm=norm, activation=activation, dropout=0.0)
    torch.manual_seed(3)
    ours = build_model(Seq2Seq(encoder=stack, decoder=stack), 17, 19).eval()
    theirs = nn.Transformer(
        12, 3, 2, 2, 20, 0.0, activation, batch_first=True, norm_first=norm == "before"
    ).eval()  # fmt: skip
    for parts, others, decoder in (
        (ours.encoder, theirs.encoder, False), (ours.decoder, theirs.decoder, True),
    ):  # fmt: skip
        for own, other in zip(parts.layers, others.layers, strict=True):
            _same_layer(own, other, decoder)
        others.norm = parts.final_norm  # torch always has one; after each sub-layer it is not needed
    batch = make_batch([[4, 5, 6], [7]], [[8, 9], [10, 11, 12, 13]])
    positions = Sinusoidal(12)
    source = ours.source(batch.source_BS) + positions(batch.source_BS.shape[1], torch.device("cpu"))
    target = ours.target(batch.target_in_BT) + positions(batch.target_in_BT.shape[1], torch.device("cpu"))
    length = target.shape[1]
    want = theirs(
        source, target, tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
        src_key_padding_mask=~batch.mask_BS, memory_key_padding_mask=~batch.mask_BS,
        tgt_key_padding_mask=~batch.target_mask_BT,
    )  # fmt: skip
    torch.testing.assert_close(ours(batch), want[batch.target_mask_BT], atol=1e-5, rtol=1e-5)
