"""Where a model's large products become products with 8-bit weights."""

from torch import nn

from antiphon.layers.cells import KernelPart
from antiphon.layers.quantized import Int8Linear, refuse_inexact
from antiphon.predict.heads import Words

NARROWEST = 512  # numbers that a product reads; with fewer, rounding them costs more than 8 bits gain
READ_AT_ONCE = ("encoder", "letters")  # by the fused kernels of torch, which have no 8-bit weights


def quantize(model: nn.Module, narrowest: int = NARROWEST) -> int:
    """Swap, in place, every large product that decoding goes through, and say how many there were.

    Such a model answers and cannot be trained. Lookups of words and the fused kernels of recurrent encoders stay in
    float32.
    """
    refuse_inexact()
    swapped = 0
    for path, part in list(model.named_modules()):
        for name, child in [*part.named_children(), *vars(part).items()]:
            match child:
                case KernelPart() if path.startswith(READ_AT_ONCE):
                    continue
                case nn.Linear() | KernelPart():
                    weight, bias = child.weight, child.bias
                case Words():
                    weight, bias = child.weight_VE, child.bias_V
                case _:
                    continue
            if weight.shape[1] >= narrowest and weight.numel() >= 2 * narrowest**2:
                product = Int8Linear(weight, bias)
                swapped += 1
                setattr(part, name, product)
                if isinstance(child, KernelPart):
                    # The fused kernel stays for whole sequences, with the weights that the digits stand for.
                    child.weight.data.copy_(product.weight)
    return swapped
