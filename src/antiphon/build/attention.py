"""From choices to the attention of a recurrent decoder."""

from typing import assert_never

from antiphon.attend import scores, weights, windows
from antiphon.attend.attention import Attention
from antiphon.config import schema


def build_attention(choice: schema.RecurrentDecoder, memory_width: int) -> Attention | None:
    attending = choice.attention
    if isinstance(attending, schema.NoAttention):
        return None
    values = attending.width if isinstance(attending, schema.MultiHeadAttention) else attending.values
    scorer = _scorer(attending, choice.query_width, memory_width)
    return Attention(scorer, _window(attending, choice.query_width), _weigh(attending), memory_width, values)


def _window(choice: schema.Scoring, query_width: int) -> windows.Window:
    match choice.window:
        case "all":
            return windows.everywhere
        case "local_m":
            return windows.Monotonic(choice.reach)
        case "local_p":
            return windows.Predictive(query_width, choice.reach)
        case _:
            assert_never(choice.window)


def _weigh(choice: schema.Scoring) -> weights.Weigh:
    match choice.weights:
        case "softmax":
            return weights.softmax
        case "sparsemax":
            return weights.sparsemax
        case "hard":
            return weights.Hard()
        case _:
            assert_never(choice.weights)


def _scorer(choice: schema.Scoring, query_width: int, memory_width: int) -> scores.Scorer:
    match choice:
        case schema.DotAttention():
            return scores.Dot()
        case schema.ScaledDotAttention(width=width):
            return scores.ScaledDot(query_width, memory_width, width, heads=1)
        case schema.MultiHeadAttention(width=width, heads=heads):
            return scores.ScaledDot(query_width, memory_width, width, heads)
        case schema.BilinearAttention():
            return scores.Bilinear(query_width, memory_width)
        case schema.AdditiveAttention(width=width):
            return scores.Additive(query_width, memory_width, width)
        case schema.CosineAttention(width=width):
            return scores.Cosine(query_width, memory_width, width)
        case schema.LocationAttention(width=width, filters=filters, span=span):
            return scores.LocationAware(query_width, memory_width, width, filters, span)
        case _:
            assert_never(choice)
