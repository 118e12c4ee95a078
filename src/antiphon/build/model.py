"""From choices to models: with its neighbours the only place that turns a config into objects."""

from typing import assert_never

from antiphon import models
from antiphon.build import recurrent, transformer
from antiphon.config import schema
from antiphon.encode.tokens import Tokens
from antiphon.predict.heads import Words


def build_model(choice: schema.Model, source_size: int, target_size: int) -> models.Model:
    """The model of these choices; where there is no source, `source_size` says nothing."""
    match choice:
        case schema.Seq2Seq():
            return _seq2seq(choice, source_size, target_size)
        case schema.LanguageModel():
            return _language_model(choice, target_size)
        case _:
            assert_never(choice)


def _seq2seq(choice: schema.Seq2Seq, source_size: int, target_size: int) -> models.Seq2Seq:
    source = _tokens(choice.encoder, source_size)
    target = _tokens(choice.decoder, target_size)
    if choice.tie == "all":
        target.weight_VD = source.weight_VD
    carry = isinstance(choice.decoder, schema.RecurrentDecoder) and choice.decoder.bridge == "copy"
    decoder = build_decoder(choice.decoder, schema.memory_width(choice.encoder))
    head = Words(decoder.width, target_size, None if choice.tie == "none" else target.weight_VD)
    return models.Seq2Seq(source, build_encoder(choice.encoder, carry), target, decoder, head)


def _language_model(choice: schema.LanguageModel, size: int) -> models.LanguageModel:
    target, decoder = _tokens(choice.decoder, size), build_writer(choice.decoder)
    head = Words(decoder.width, size, None if choice.tie == "none" else target.weight_VD)
    return models.LanguageModel(target, decoder, head)


def build_encoder(choice: schema.RecurrentEncoder | schema.TransformerStack, carry: bool) -> models.Encoder:
    match choice:
        case schema.RecurrentEncoder():
            return recurrent.build_reader(choice, carry)
        case schema.TransformerStack():
            return transformer.build_reader(choice)
        case _:
            assert_never(choice)


def build_decoder(choice: schema.RecurrentDecoder | schema.TransformerStack, memory_width: int) -> models.Decoder:
    match choice:
        case schema.RecurrentDecoder():
            return recurrent.build_decoder(choice, memory_width)
        case schema.TransformerStack():
            return transformer.build_decoder(choice, memory_width)
        case _:
            assert_never(choice)


def build_writer(choice: schema.RecurrentWriter | schema.TransformerStack) -> models.Decoder:
    match choice:
        case schema.RecurrentWriter():
            return recurrent.build_writer(choice)
        case schema.TransformerStack():
            return transformer.build_decoder(choice, None)
        case _:
            assert_never(choice)


def _tokens(half: schema.Half, size: int) -> Tokens:
    scaled = isinstance(half, schema.TransformerStack) and half.scale_embedding
    return Tokens(size, schema.embedding_width(half), scaled)
