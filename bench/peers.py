"""The attentive LSTM out of Joey NMT's and OpenNMT-py's own modules: each learns a batch and searches with its beam.

Both need an environment of their own: `make bench-peers`. A peer that is not installed is left out.
"""

import sys
import warnings
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Literal
from unittest.mock import MagicMock

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from work import BEAM, SMOOTHING, VOCABULARY, Peer

from antiphon.data.batch import Batch, make_sources
from antiphon.data.vocab import END, PAD, START, UNKNOWN

Score = Literal["additive", "bilinear"]


@dataclass(frozen=True)
class Sizes:
    """Of the model of every side."""

    vocabulary: int = VOCABULARY
    embedding: int = 256
    encoder: int = 256  # a direction
    decoder: int = 512
    dropout: float = 0.2


class Loop:
    """AdamW, clipping and torch's own smoothed cross-entropy, which is faster than what Joey NMT brings."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), fused=True)

    def update(self, logits_BTV: Tensor, batch: Batch) -> float:
        words_BT = batch.target_out_BT.masked_fill(~batch.target_mask_BT, PAD)
        loss = F.cross_entropy(
            logits_BTV.flatten(0, 1), words_BT.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING
        )
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()


class JoeyNMT:
    def __init__(self, sizes: Sizes, score: Score) -> None:
        from joeynmt.decoders import RecurrentDecoder
        from joeynmt.embeddings import Embeddings
        from joeynmt.encoders import RecurrentEncoder
        from joeynmt.model import Model

        words = SimpleNamespace(
            pad_index=PAD, bos_index=START, eos_index=END, unk_index=UNKNOWN, sep_index=None, specials=[], lang_tags=[]
        )
        encoder = RecurrentEncoder(
            "lstm", sizes.encoder, sizes.embedding, 1, emb_dropout=sizes.dropout, bidirectional=True
        )
        decoder = RecurrentDecoder(
            "lstm", sizes.embedding, sizes.decoder, encoder, "bahdanau" if score == "additive" else "luong", 1,
            sizes.vocabulary, hidden_dropout=sizes.dropout, emb_dropout=sizes.dropout, input_feeding=True,
        )  # fmt: skip
        tables = [
            Embeddings(sizes.embedding, vocab_size=sizes.vocabulary, padding_idx=PAD) for _ in ("source", "target")
        ]
        self.model = Model(encoder, decoder, *tables, words, words)
        self.loop = Loop(self.model)

    def learn(self, batch: Batch) -> object:
        self.model.train()
        # It packs, and wants the longest first.
        order = batch.mask_BS.sum(1).argsort(descending=True)
        source_BS, mask_BS, words_BT = batch.source_BS[order], batch.mask_BS[order], batch.target_in_BT[order]
        read, last = self.model.encoder(self.model.src_embed(source_BS), mask_BS.sum(1), mask_BS)
        logits_BTV, *_ = self.model.decoder(
            self.model.trg_embed(words_BT), read, last, mask_BS.unsqueeze(1), words_BT.shape[1]
        )
        ordered = Batch(source_BS, mask_BS, words_BT, batch.target_out_BT[order], batch.target_mask_BT[order])
        return self.loop.update(logits_BTV, ordered)

    def write(self, sources: list[list[int]], length: int) -> object:
        from joeynmt.search import beam_search

        self.model.eval()
        source_BS, mask_BS = make_sources(sorted(sources, key=len, reverse=True))
        with torch.inference_mode():
            read, last = self.model.encoder(self.model.src_embed(source_BS), mask_BS.sum(1), mask_BS)
            return beam_search(
                self.model, BEAM, read, last, mask_BS.unsqueeze(1), length, 1.0,
                generate_unk=False, min_output_length=length + 1,
            )  # fmt: skip


class OpenNMT:
    """An encoder and a decoder of its own, trained and searched as it does."""

    model: nn.ModuleDict
    loop: Loop

    def join(self, encoder: nn.Module, decoder: nn.Module, head: nn.Linear) -> None:
        self.model = nn.ModuleDict({"encoder": encoder, "decoder": decoder, "generator": head})
        self.loop = Loop(self.model)

    def _read(self, source_BS: Tensor, mask_BS: Tensor) -> tuple[Tensor, Tensor]:
        source_BS1 = source_BS.unsqueeze(2)
        read, last, lengths = self.model["encoder"](source_BS1, mask_BS.sum(1))
        self.model["decoder"].init_state(source_BS1, read, last)
        return read, lengths

    def learn(self, batch: Batch) -> object:
        self.model.train()
        read, lengths = self._read(batch.source_BS, batch.mask_BS)
        out_BTE, _ = self.model["decoder"](batch.target_in_BT.unsqueeze(2), read, src_len=lengths)
        return self.loop.update(self.model["generator"](out_BTE), batch)

    def write(self, sources: list[list[int]], length: int) -> object:
        from onmt.translate.beam_search import BeamSearch, GNMTGlobalScorer

        self.model.eval()
        decoder = self.model["decoder"]
        scorer = GNMTGlobalScorer(1.0, 0.0, "avg", "none")
        search = BeamSearch(
            BEAM, len(sources), PAD, START, END, UNKNOWN, START, 1, scorer, length, length, False, 0, set(), False,
            0.0, True,
        )  # fmt: skip
        with torch.inference_mode():
            read, lengths = self._read(*make_sources(sources))
            tile, read, _ = search.initialize(read, lengths)
            decoder.map_state(tile)
            for step in range(search.max_length):  # as its own translator goes
                words = search.current_predictions.view(-1, 1, 1)
                out, _ = decoder(words, read, src_len=search.src_len, step=step)
                search.advance(F.log_softmax(self.model["generator"](out.squeeze(1)), dim=-1), None)
                if any(any(row) for row in search.is_finished_list):
                    search.update_finished()
                    if search.done:
                        break
                    read = read[search.select_indices]
                decoder.map_state(lambda state, _: state[search.select_indices])
        return search.predictions


class RecurrentOpenNMT(OpenNMT):
    def __init__(self, sizes: Sizes, score: Score) -> None:
        without_its_transforms()
        from onmt.decoders.decoder import InputFeedRNNDecoder
        from onmt.encoders.rnn_encoder import RNNEncoder
        from onmt.modules.embeddings import Embeddings

        tables = [Embeddings(sizes.embedding, sizes.vocabulary, PAD, dropout=sizes.dropout) for _ in range(2)]
        encoder = RNNEncoder("LSTM", True, 1, 2 * sizes.encoder, sizes.dropout, tables[0])
        decoder = InputFeedRNNDecoder(
            "LSTM", True, 1, sizes.decoder, "mlp" if score == "additive" else "general",
            dropout=sizes.dropout, embeddings=tables[1],
        )  # fmt: skip
        self.join(encoder, decoder, nn.Linear(sizes.decoder, sizes.vocabulary))


def without_its_transforms() -> None:
    """Importing any of it imports all its data transforms, and with them packages that this work never calls."""
    warnings.filterwarnings("ignore", category=FutureWarning)
    for name in ("spacy", "ahocorasick", "rapidfuzz", "fasttext"):
        sys.modules.setdefault(name, MagicMock())


def installed(sizes: Sizes, score: Score) -> dict[str, Peer]:
    """The peers that can be imported here."""
    found: dict[str, Peer] = {}
    for name, peer in (("Joey NMT", JoeyNMT), ("OpenNMT-py", RecurrentOpenNMT)):
        try:
            torch.manual_seed(1)
            found[name] = peer(sizes, score)
        except ImportError as error:
            leave_out(name, str(error))
    return found


@cache
def leave_out(name: str, reason: str) -> None:
    """Told once."""
    print(f"{name} is left out: {reason}. `make bench-peers` installs it.")
