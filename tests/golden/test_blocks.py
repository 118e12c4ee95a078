"""Transformer parts by their formulas, and positions by the property that defines them.

B batch · S places · T queries · D width · H heads · C width of a head
"""

import math

import pytest
import torch
from torch import nn

from antiphon.attend.memory import Memory
from antiphon.attend.multihead import CrossAttention, ScaledDot, SelfAttention
from antiphon.build.model import build_encoder, build_model
from antiphon.config.schema import Decoder, Encoder, RecurrentDecoder, RecurrentEncoder, Seq2Seq, TransformerStack
from antiphon.data.batch import make_batch
from antiphon.layers.blocks import FeedForward, SubLayer, make_norm
from antiphon.layers.packing import Packing
from antiphon.layers.positions import Relative, _buckets

BATCH = make_batch([[4, 5, 6, 7], [8]], [[4, 9], [5, 6, 10]])


def a_stack(**choices) -> TransformerStack:
    return TransformerStack(width=12, heads=6, layers=2, feedforward=20, **choices)


def a_reader(**choices) -> RecurrentEncoder:
    return RecurrentEncoder(width=6, embedding=12, **choices)


def a_writer(**choices) -> RecurrentDecoder:
    return RecurrentDecoder(width=8, embedding=12, **choices)


def a_model(encoder: Encoder, decoder: Decoder, seed: int = 1) -> nn.Module:
    torch.manual_seed(seed)
    return build_model(Seq2Seq(encoder=encoder, decoder=decoder), 11, 11)


@pytest.mark.parametrize("shape", [(5, 8), (2, 3, 8)], ids=["packed", "padded"])
def test_rms_norm_is_torchs_in_value_and_gradient(shape):
    x = (3 * torch.randn(shape) + 1).double().requires_grad_()
    ours, theirs, grad = (
        make_norm(8, True, 1e-3).double(),
        nn.RMSNorm(8, eps=1e-3).double(),
        torch.randn(shape).double(),
    )
    nn.init.normal_(ours.weight)
    theirs.weight = ours.weight
    torch.testing.assert_close(ours(x), theirs(x))
    found, wanted = (torch.autograd.grad(norm(x), (x, ours.weight), grad) for norm in (ours, theirs))
    for mine, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("rms", [False, True], ids=["layer norm", "rms norm"])
def test_the_epsilon_is_added_to_the_variance(rms):
    x = torch.randn(5, 8)
    centred = x if rms else x - x.mean(1, keepdim=True)
    torch.testing.assert_close(
        make_norm(8, rms, 0.1)(x), centred / (centred.square().mean(1, keepdim=True) + 0.1).sqrt()
    )


def test_tanh_gelu_is_hendrycks_and_gimpels():
    layer, x = FeedForward(5, 7, "gelu_tanh", 0.0), torch.randn(3, 5)
    a = layer.inner(x)
    bent = a / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))
    torch.testing.assert_close(layer(x), layer.out(bent))


@pytest.mark.parametrize("rms", [False, True], ids=["layer norm", "rms norm"])
def test_words_and_positions_are_normed_together(rms):
    choices = {"norm_epsilon": 0.01, "rms_norm": rms, "positions": "learned", "max_positions": 9, "dropout": 0.0}
    plain, normed = (a_model(a_stack(**choices, embedding_norm=on), a_stack(**choices)).encoder for on in (False, True))
    plain.load_state_dict(normed.state_dict(), strict=False)
    words_BSD, mask_BS = torch.randn(2, 4, 12), BATCH.mask_BS[:, :4]
    before_BSD = make_norm(12, rms, 0.01)(words_BSD + plain.positions.table_TD[:4])
    expected = plain(before_BSD - plain.positions.table_TD[:4], mask_BS).states_BSM
    torch.testing.assert_close(normed(words_BSD, mask_BS).states_BSM[mask_BS], expected[mask_BS])


def test_a_sub_layer_norms_by_the_root_mean_square():
    x, work = torch.randn(5, 8), nn.Linear(8, 8)
    normed = x / (x.square().mean(1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(SubLayer(make_norm(8, True, 1e-5), 0.0, "before")(x, work), x + work(normed))


@pytest.mark.parametrize(
    ("activation", "bend"),
    [("geglu", lambda a: a * (1 + torch.erf(a / math.sqrt(2))) / 2), ("swiglu", lambda a: a * torch.sigmoid(a))],
    ids=["geglu", "swiglu"],
)
def test_a_gate_is_shazeers(activation, bend):
    layer, x = FeedForward(5, 7, activation, 0.0), torch.randn(3, 5)
    nn.init.normal_(layer.inner.bias)
    (gate, value), (gate_bias, value_bias) = layer.inner.weight.chunk(2), layer.inner.bias.chunk(2)
    inner = bend(x @ gate.t() + gate_bias) * (x @ value.t() + value_bias)
    torch.testing.assert_close(layer(x), inner @ layer.out.weight.t() + layer.out.bias)
    # Each half starts as a matrix of its own would.
    assert math.sqrt(6 / 12) * 0.8 < gate.abs().max() <= math.sqrt(6 / 12)


def test_near_distances_have_a_bucket_each_and_far_ones_share():
    """The table of the T5 paper's code: 32 buckets, 128 places."""
    away = torch.arange(301).unsqueeze(0)
    before, after = _buckets(-away, True)[0].tolist(), _buckets(away, True)[0].tolist()
    begins = [before.index(bucket) for bucket in range(16)]
    assert begins == [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]
    assert after[0] == 0
    assert after[1:] == [bucket + 16 for bucket in before[1:]]
    causal = _buckets(-away, False)[0].tolist()
    by_formula = [16 + int(math.log(n / 16) / math.log(8) * 16 + 1e-9) for n in range(16, 301)]
    assert causal == [*range(16), *(min(bucket, 31) for bucket in by_formula)]


@pytest.mark.parametrize("both_ways", [True, False])
def test_a_relative_bias_knows_distances_only(both_ways):
    relative = Relative(8, 3, both_ways)
    bias_HTS = relative(40, 40)
    for distance in range(-39, 40) if both_ways else range(-39, 1):
        assert len(bias_HTS.diagonal(distance, dim1=1, dim2=2).unique(dim=1).flatten()) == 3
    # The last places of many are asked alone when words come one by one.
    assert torch.equal(relative(1, 40), bias_HTS[:, 39:])
    assert torch.equal(relative(5, 40), bias_HTS[:, 35:])
    near, far = bias_HTS[:, 20, 19], bias_HTS[:, 20, 18]
    assert not torch.equal(near, far)
    if both_ways:
        assert not torch.equal(near, bias_HTS[:, 20, 21])


@pytest.mark.parametrize("positions", ["relative", "rotary", "none", "sinusoidal"])
def test_a_shift_changes_nothing_where_distances_count(positions):
    """The same words three places later, behind padding: only absolute positions notice."""
    torch.manual_seed(1)
    encoder = build_encoder(a_stack(positions=positions), carry=False).eval()
    words_BSD, nothing = torch.randn(2, 6, 12), torch.zeros(2, 3, 12)
    here = encoder(words_BSD, torch.ones(2, 6, dtype=torch.bool)).states_BSM
    mask_BS = torch.tensor([[False] * 3 + [True] * 6] * 2)
    later = encoder(torch.cat([nothing, words_BSD], dim=1), mask_BS).states_BSM[:, 3:]
    turned = encoder(words_BSD.flip(1), torch.ones(2, 6, dtype=torch.bool)).states_BSM.flip(1)
    assert torch.allclose(here, later, atol=1e-5) == (positions != "sinusoidal")
    assert torch.allclose(here, turned, atol=1e-4) == (positions == "none")


def test_one_bias_serves_all_layers_of_a_stack():
    model = a_model(a_stack(positions="relative"), a_stack(positions="relative"))
    biases = [name for name, _ in model.named_parameters() if "bias_UH" in name]
    assert biases == ["encoder.layers.0.attention.relative.bias_UH", "decoder.layers.0.attention.relative.bias_UH"]
    assert model.encoder.layers[1].attention.relative is model.encoder.layers[0].attention.relative


def test_a_relative_bias_is_added_to_the_scores():
    attend, bias_HTS = ScaledDot(0.0), torch.randn(6, 4, 5)
    q_BHTC, keys_BHSC, values_BHSC = torch.randn(2, 6, 4, 3), torch.randn(2, 6, 5, 3), torch.randn(2, 6, 5, 3)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])[:, None, None, :]
    weights = (q_BHTC @ keys_BHSC.transpose(2, 3) / math.sqrt(3) + bias_HTS).masked_fill(~mask, -math.inf).softmax(-1)
    got = attend(q_BHTC, keys_BHSC, values_BHSC, mask, bias_HTS, False, None)
    torch.testing.assert_close(got, weights @ values_BHSC)


@pytest.mark.parametrize("looking", [False, True])
@pytest.mark.parametrize("kv_heads", [1, 2, 3])
@pytest.mark.parametrize("reading", ["mask", "causal", "past", "step"])
def test_shared_heads_are_full_attention_with_copied_ones(kv_heads, reading, looking):
    width, heads = 12, 6
    shared, full = (SelfAttention(width, heads, count, 0.0, None, None) for count in (kv_heads, heads))
    full.out = shared.out
    with torch.no_grad():
        for mine, theirs in (
            (shared.projection.weight, full.projection.weight),
            (shared.projection.bias, full.projection.bias),
        ):
            query, keys, values = mine.split([width, 2 * kv_heads, 2 * kv_heads])
            copies = [
                part.unflatten(0, (kv_heads, 2)).repeat_interleave(heads // kv_heads, 0) for part in (keys, values)
            ]
            theirs.copy_(torch.cat([query, *(part.flatten(0, 1) for part in copies)]))
    mask_BS = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    x_BSD, outs, kept = torch.randn(2, 5, width), [], []
    for attention in (shared, full):
        torch.manual_seed(1)
        rows, look = Packing(2, 1 if reading == "step" else 5, None, None), [] if looking else None
        count = attention.parts[1]
        seen = torch.randn(2, kv_heads, 4, 2).repeat_interleave(count // kv_heads, 1)
        past = {"mask": None, "causal": (seen[:, :, :0],) * 2}.get(reading, (seen, seen))
        packed = rows.pack(x_BSD[:, : rows.length])
        out, (keys, _) = attention(packed, rows, mask_BS if reading == "mask" else None, past, look)
        outs.append(out)
        kept.append(keys)
    torch.testing.assert_close(outs[0], outs[1])
    assert kept[0].shape[1] == kv_heads  # what is kept between two words shrinks
    torch.testing.assert_close(kept[0].repeat_interleave(heads // kv_heads, 1), kept[1])


def test_shared_heads_read_the_memory_alike():
    shared, full = (CrossAttention(8, 6, 4, count, 0.0) for count in (2, 4))
    full.out, full.query = shared.out, shared.query
    with torch.no_grad():
        copies = shared.memory.weight.unflatten(0, (2, 2, 2)).repeat_interleave(2, 1)
        full.memory.weight.copy_(copies.flatten(0, 2))
    mask_BS = torch.tensor([[True, True, False], [True, True, True]])
    memory = Memory(torch.randn(2, 3, 6), mask_BS, torch.zeros(2, 6))
    x, rows = torch.randn(8, 8), Packing(2, 4, None, None)
    outs = [part(x, rows, part.prepare(memory, Packing.of(mask_BS)), None) for part in (shared, full)]
    torch.testing.assert_close(*outs)
    assert shared.prepare(memory, Packing.of(mask_BS)).keys.shape == (2, 2, 3, 2)


@pytest.mark.parametrize(
    ("encoder", "decoder", "root"),
    [(a_stack, a_stack, 0.5), (a_reader, a_writer, 0.25)],
    ids=["transformer", "recurrent"],
)
def test_embeddings_are_scaled_or_not(encoder, decoder, root):
    for scaled, factor in ((True, 12**root), (False, 1.0)):
        model = a_model(encoder(scale_embedding=scaled), decoder(scale_embedding=not scaled))
        words = torch.tensor([4, 5])
        torch.testing.assert_close(model.source(words), model.source.weight_VD[words] * factor)
        assert (model.target.scale == 1.0) == scaled


def test_gates_hear_the_words_from_the_first_step():
    """Deep in a recurrent encoder that has not learnt yet, two words leave states that differ (decision 41)."""
    torch.manual_seed(1)
    model = build_model(Seq2Seq(encoder=RecurrentEncoder(layers=2), decoder=RecurrentDecoder()), 50, 50).eval()
    states = model.encoder(model.source(torch.arange(4, 50).unsqueeze(1)), torch.ones(46, 1, dtype=torch.bool))
    assert states.summary_BM.std(0).mean() > 0.004


@pytest.mark.parametrize("rate", ["dropout", "attention_dropout", "activation_dropout", "layer_drop"])
@pytest.mark.parametrize("half", ["encoder", "decoder"])
def test_every_dropout_is_at_work_in_both_halves_and_in_training_only(half, rate):
    quiet, noisy = a_stack(dropout=0.0), a_stack(**({"dropout": 0.0} | {rate: 0.5}))
    model = a_model(noisy, quiet) if half == "encoder" else a_model(quiet, noisy)
    plain = a_model(quiet, quiet).eval()(BATCH)
    assert torch.equal(model.eval()(BATCH), plain)
    model.train()
    outs = [model(BATCH) for _ in range(8)]
    assert any(not torch.allclose(out, plain) for out in outs)
    assert any(not torch.equal(out, outs[0]) for out in outs)


def test_dropout_falls_on_embeddings_and_on_residuals():
    """Without layers, only embeddings are left; a sub-layer drops what it adds, and not what it adds to."""
    model = a_model(a_stack(dropout=0.5), a_stack(dropout=0.5)).train()
    for half in (model.encoder, model.decoder):
        assert half.dropout.rate == 0.5
        half.layers = nn.ModuleList()
        half.final_norm = None
    words_BSD = torch.ones(1, 50, 12)
    states_BSM = model.encoder(words_BSD, torch.ones(1, 50, dtype=torch.bool)).states_BSM
    assert 0.3 < (states_BSM == 0).float().mean() < 0.7
    added = SubLayer(make_norm(12, False, 1e-5), 0.5, "before").train()(words_BSD, torch.ones_like) - words_BSD
    assert sorted(added.unique().tolist()) == pytest.approx([0.0, 2.0], abs=1e-4)


def test_a_skipped_layer_gets_no_gradient_and_the_others_do():
    stack, seen = a_stack(layer_drop=0.5), set()
    model = a_model(stack, stack).train()
    for seed in range(20):
        torch.manual_seed(seed)
        model.zero_grad()
        model(BATCH).square().sum().backward()
        layers = [*model.encoder.layers, *model.decoder.layers]
        grads = [[part.grad is None for part in layer.parameters()] for layer in layers]
        assert all(len(set(skipped)) == 1 for skipped in grads)
        seen.add(tuple(skipped[0] for skipped in grads))
    assert len(seen) > 8


def test_depth_scaled_weights_shrink_with_the_square_root_of_the_layer():
    plain, scaled = (a_model(a_stack(init=init), a_stack(init=init)) for init in ("glorot", "depth_scaled"))
    for (name, part), (_, other) in zip(plain.named_parameters(), scaled.named_parameters(), strict=True):
        deep = "layers.1" in name and part.dim() == 2
        torch.testing.assert_close(other, part / math.sqrt(2) if deep else part)
