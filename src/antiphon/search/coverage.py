"""Coverage: an answer that leaves a part of its source unread is worth less.

B sentences · K hypotheses of each · N rows = B x K · S source places
"""

from dataclasses import dataclass

from torch import Tensor

UNREAD = 1e-6  # what a place counts at the least: some attentions give a place exactly nothing, whose log has no end


@dataclass(frozen=True)
class Coverage:
    """cp = weight x sum over source places of log min(sum over words of attention, 1) (Wu et al., 2016)."""

    weight: float
    real_BS: Tensor  # True where a source has a place

    def worth(self, covered_S: Tensor, sentence: int) -> float:
        """Of one hypothesis, from the summed attention to each place; 0 where all was read."""
        logs_S = covered_S.double().clamp(UNREAD, 1.0).log()
        return self.weight * float(logs_S[self.real_BS[sentence]].sum())
