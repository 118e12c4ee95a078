"""Transformers out of the modules of Hugging Face (Marian), Joey NMT and OpenNMT-py, with equal dropout and tying.

They need an environment of their own: `make bench-peers`. One that is not installed is left out.
"""

from types import SimpleNamespace

import torch
from peers import Loop, OpenNMT, leave_out, without_its_transforms
from torch import nn
from work import BEAM, VOCABULARY, Peer

from antiphon.config.schema import TransformerStack
from antiphon.data.batch import Batch, make_sources
from antiphon.data.vocab import END, PAD, START, UNKNOWN

LONGEST = 64


class Marian:
    """Its norms come after, as in the paper; ours and the others' before: the same work."""

    def __init__(self, stack: TransformerStack) -> None:
        from transformers import MarianConfig, MarianMTModel

        config = MarianConfig(
            vocab_size=VOCABULARY, decoder_vocab_size=VOCABULARY, share_encoder_decoder_embeddings=False,
            tie_word_embeddings=True, max_position_embeddings=LONGEST, d_model=stack.width,
            encoder_layers=stack.layers, decoder_layers=stack.layers, encoder_ffn_dim=stack.feedforward,
            decoder_ffn_dim=stack.feedforward, encoder_attention_heads=stack.heads, decoder_attention_heads=stack.heads,
            dropout=stack.dropout, attention_dropout=stack.attention_dropout, scale_embedding=True,
            activation_dropout=stack.activation_dropout, activation_function="relu", pad_token_id=PAD,
            bos_token_id=START, eos_token_id=END, decoder_start_token_id=START, forced_eos_token_id=None,
        )  # fmt: skip
        self.model = MarianMTModel(config)
        self.loop = Loop(self.model)

    def learn(self, batch: Batch) -> object:
        self.model.train()
        out = self.model(
            input_ids=batch.source_BS, attention_mask=batch.mask_BS.long(), decoder_input_ids=batch.target_in_BT,
            decoder_attention_mask=batch.target_mask_BT.long(), use_cache=False,
        )  # fmt: skip
        return self.loop.update(out.logits, batch)

    def write(self, sources: list[list[int]], length: int) -> object:
        self.model.eval()
        source_BS, mask_BS = make_sources(sources)
        with torch.inference_mode():
            return self.model.generate(
                input_ids=source_BS, attention_mask=mask_BS.long(), num_beams=BEAM, do_sample=False,
                min_new_tokens=length, max_new_tokens=length,
            )  # fmt: skip


class JoeyTransformer:
    """Only trained here: it searches without a cache, and is no match."""

    def __init__(self, stack: TransformerStack) -> None:
        from joeynmt.decoders import TransformerDecoder
        from joeynmt.embeddings import Embeddings
        from joeynmt.encoders import TransformerEncoder
        from joeynmt.model import Model

        words = SimpleNamespace(
            pad_index=PAD, bos_index=START, eos_index=END, unk_index=UNKNOWN, sep_index=None, specials=[], lang_tags=[]
        )
        sizes = {
            "hidden_size": stack.width, "ff_size": stack.feedforward, "num_layers": stack.layers,
            "num_heads": stack.heads, "dropout": stack.dropout, "emb_dropout": stack.dropout, "layer_norm": "pre",
        }  # fmt: skip
        tables = [
            Embeddings(stack.width, scale=True, vocab_size=VOCABULARY, padding_idx=PAD) for _ in ("source", "target")
        ]
        decoder = TransformerDecoder(vocab_size=VOCABULARY, **sizes)
        decoder.output_layer.weight = tables[1].lut.weight
        self.model = Model(TransformerEncoder(**sizes), decoder, *tables, words, words)
        self.loop = Loop(self.model)

    def learn(self, batch: Batch) -> object:
        self.model.train()
        mask_B1S = batch.mask_BS.unsqueeze(1)
        read, _ = self.model.encoder(self.model.src_embed(batch.source_BS), batch.mask_BS.sum(1), mask_B1S)
        logits_BTV, *_ = self.model.decoder(
            self.model.trg_embed(batch.target_in_BT), read, None, mask_B1S, batch.target_in_BT.shape[1], None,
            batch.target_mask_BT.unsqueeze(1),
        )  # fmt: skip
        return self.loop.update(logits_BTV, batch)


class TransformerOpenNMT(OpenNMT):
    def __init__(self, stack: TransformerStack) -> None:
        without_its_transforms()
        from onmt.decoders.transformer import TransformerDecoder
        from onmt.encoders.transformer import TransformerEncoder
        from onmt.modules.embeddings import Embeddings

        tables = [
            Embeddings(stack.width, VOCABULARY, PAD, position_encoding=True, dropout=stack.dropout) for _ in range(2)
        ]
        sizes = (stack.layers, stack.width, stack.heads, stack.feedforward)
        drops = (stack.dropout, stack.attention_dropout)
        encoder = TransformerEncoder(*sizes, *drops, tables[0], 0, 0, add_qkvbias=True)
        decoder = TransformerDecoder(
            *sizes, False, "scaled-dot", *drops, tables[1], 0, 0, False, False, 0, 0, add_qkvbias=True
        )
        head = nn.Linear(stack.width, VOCABULARY)
        head.weight = tables[1].word_lut.weight
        self.join(encoder, decoder, head)


def installed(stack: TransformerStack) -> dict[str, Peer]:
    """The peers that can be imported here."""
    found: dict[str, Peer] = {}
    for name, peer in (("Marian (HF)", Marian), ("Joey NMT", JoeyTransformer), ("OpenNMT-py", TransformerOpenNMT)):
        try:
            torch.manual_seed(1)
            found[name] = peer(stack)
        except ImportError as error:
            leave_out(name, str(error))
    return found
