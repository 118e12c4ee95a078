"""The loop that people write by hand: torch.nn.Transformer, padded batches, whole logits."""

import math
import warnings

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from antiphon.config.schema import Seq2Seq, TransformerStack
from antiphon.data.batch import Batch
from antiphon.data.vocab import PAD


class Plain(nn.Module):
    """The same model as Antiphon's, out of torch's own parts: equal dropout places, smoothing and tying."""

    def __init__(self, stack: TransformerStack, size: int, longest: int) -> None:
        super().__init__()
        self.scale = math.sqrt(stack.width)
        self.source = nn.Embedding(size, stack.width)
        self.target = nn.Embedding(size, stack.width)
        for table in (self.source, self.target):
            nn.init.normal_(table.weight, std=stack.width**-0.5)
        # Its nested tensors serve inference only, and it warns that they do not suit norm_first.
        warnings.filterwarnings("ignore", message="enable_nested_tensor")
        self.transformer = nn.Transformer(
            stack.width, stack.heads, stack.layers, stack.layers, stack.feedforward, stack.dropout,
            batch_first=True, norm_first=True,
        )  # fmt: skip
        self.out = nn.Linear(stack.width, size)
        self.out.weight = self.target.weight
        self.dropout = nn.Dropout(stack.dropout)
        angles = torch.arange(longest).unsqueeze(1) * torch.exp(
            torch.arange(0, stack.width, 2) * (-math.log(10_000.0) / stack.width)
        )
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], dim=1))

    def embed(self, table: nn.Embedding, words: Tensor) -> Tensor:
        return self.dropout(table(words) * self.scale + self.positions[: words.shape[1]])

    def forward(self, batch: Batch) -> Tensor:
        length = batch.target_in_BT.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool).triu(1)
        hidden, target_hidden = ~batch.mask_BS, ~batch.target_mask_BT
        out = self.transformer(
            self.embed(self.source, batch.source_BS), self.embed(self.target, batch.target_in_BT), tgt_mask=causal,
            src_key_padding_mask=hidden, tgt_key_padding_mask=target_hidden, memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )  # fmt: skip
        return self.out(out)


class PlainLoop:
    """AdamW, clipping and the mean loss a real token, as in any tutorial."""

    def __init__(self, model: Seq2Seq, size: int, longest: int) -> None:
        assert isinstance(model.encoder, TransformerStack)
        torch.manual_seed(1)
        self.model = Plain(model.encoder, size, longest).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, betas=(0.9, 0.98), fused=True)

    def learn(self, batch: Batch) -> float:
        self.optimizer.zero_grad()
        logits = self.model(batch)
        words = batch.target_out_BT.masked_fill(~batch.target_mask_BT, PAD)
        loss = F.cross_entropy(logits.flatten(0, 1), words.flatten(), ignore_index=PAD, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()
