"""Where a model's large products become products with 8-bit weights."""

from torch import nn

from antiphon.layers.cells import KernelPart
from antiphon.layers.quantized import Int8Linear, refuse_inexact
from antiphon.predict.heads import Words

NARROWEST = 512  # numbers that a product reads; with fewer, rounding them costs more than 8 bits gain


def quantize(model: nn.Module, narrowest: int = NARROWEST) -> None:
    """Swap, in place, every large product that decoding goes through; such a model answers and cannot be trained.

    Lookups of words and the fused kernels of recurrent encoders stay in float32.
    """
    refuse_inexact()
    for part in list(model.modules()):
        for name, child in [*part.named_children(), *vars(part).items()]:
            match child:
                case nn.Linear() | KernelPart():
                    weight, bias = child.weight, child.bias
                case Words():
                    weight, bias = child.weight_VE, child.bias_V
                case _:
                    continue
            if weight.shape[1] >= narrowest and weight.numel() >= 2 * narrowest**2:
                product = Int8Linear(weight, bias)
                setattr(part, name, product)
                if isinstance(child, KernelPart):
                    # The fused kernel stays for whole sequences, with the weights that the digits stand for.
                    child.weight.data.copy_(product.weight)
