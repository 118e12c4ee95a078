"""From choices to models: with its neighbours the only place that turns a config into objects."""

from typing import assert_never

from torch import nn

from antiphon.attend import pool
from antiphon.build import recurrent, transformer
from antiphon.config import schema
from antiphon.data.vocab import SPECIAL
from antiphon.encode.letters import Letters
from antiphon.encode.tokens import Tokens
from antiphon.models import labelling, masked, pointing, writing
from antiphon.models.contracts import Decoder, Encoder
from antiphon.models.model import Model
from antiphon.predict.chain import Chain
from antiphon.predict.ends import Ends
from antiphon.predict.heads import Between, Words


def build_model(choice: schema.Model, source_size: int, target_size: int) -> Model:
    """The model of these choices; where there is no source, `source_size` says nothing."""
    match choice:
        case schema.Seq2Seq():
            return _seq2seq(choice, source_size, target_size)
        case schema.LanguageModel():
            return _language_model(choice, target_size)
        case schema.Classifier():
            return _classifier(choice, source_size, target_size - len(SPECIAL))
        case schema.Tagger():
            return _tagger(choice, source_size, target_size - len(SPECIAL))
        case schema.Masked():
            return _masked(choice, target_size)
        case schema.Spans():
            return _spans(choice, source_size)
        case _:
            assert_never(choice)


def _seq2seq(choice: schema.Seq2Seq, source_size: int, target_size: int) -> writing.Seq2Seq:
    source = _tokens(choice.encoder, source_size)
    target = _tokens(choice.decoder, target_size)
    if choice.tie == "all":
        target.weight_VD = source.weight_VD
    carry = isinstance(choice.decoder, schema.RecurrentDecoder) and choice.decoder.bridge == "copy"
    decoder = build_decoder(choice.decoder, schema.memory_width(choice.encoder))
    head = Words(decoder.width, target_size, None if choice.tie == "none" else target.weight_VD)
    return writing.Seq2Seq(source, build_encoder(choice.encoder, carry), target, decoder, head)


def _language_model(choice: schema.LanguageModel, size: int) -> writing.LanguageModel:
    target, decoder = _tokens(choice.decoder, size), build_writer(choice.decoder)
    head = Words(decoder.width, size, None if choice.tie == "none" else target.weight_VD)
    return writing.LanguageModel(target, decoder, head, choice.reads == "pairs")


def _classifier(choice: schema.Classifier, source_size: int, labels: int) -> labelling.Classifier:
    towers = choice.texts == "towers"
    read = choice.pooled_width * (4 if towers else 1)
    between = Between(read, choice.hidden, choice.head_dropout)
    return labelling.Classifier(
        _tokens(choice.encoder, source_size), build_encoder(choice.encoder, carry=False), _summing(choice), between,
        Words(between.width, labels, None), towers, choice.pool == "cls", choice.labels == "several",
    )  # fmt: skip


def _tagger(choice: schema.Tagger, source_size: int, tags: int) -> labelling.Tagger:
    between = Between(schema.memory_width(choice.encoder), choice.hidden, choice.head_dropout)
    return labelling.Tagger(
        _tokens(choice.encoder, source_size), _letters(choice), build_encoder(choice.encoder, carry=False), between,
        Words(between.width, tags, None), Chain(tags) if choice.output == "chain" else None, choice.pieces == "mean",
        choice.front,
    )  # fmt: skip


def _masked(choice: schema.Masked, size: int) -> masked.Masked:
    width, embedding = schema.memory_width(choice.encoder), schema.embedding_width(choice.encoder)
    source, stack = _tokens(choice.encoder, size), choice.encoder
    norm = nn.LayerNorm(embedding, stack.norm_epsilon if isinstance(stack, schema.TransformerStack) else 1e-5)
    return masked.Masked(
        source, build_encoder(choice.encoder, carry=False), nn.Linear(width, embedding), norm,
        Words(embedding, size, source.weight_VD), masked.Pair(width, embedding) if choice.next_sentence else None,
    )  # fmt: skip


def _spans(choice: schema.Spans, source_size: int) -> pointing.Spans:
    head = Ends(schema.memory_width(choice.encoder), choice.head_dropout)
    encoder = build_encoder(choice.encoder, carry=False)
    return pointing.Spans(_tokens(choice.encoder, source_size), encoder, head, choice.front, choice.no_answer)


def _letters(choice: schema.Tagger) -> Letters | None:
    if not choice.letters:
        return None
    width = schema.embedding_width(choice.encoder)
    reader = schema.RecurrentEncoder(width=choice.letters, embedding=width, dropout=choice.encoder.dropout)
    return Letters(recurrent.build_reader(reader, carry=False), 2 * choice.letters, width)


def _summing(choice: schema.Classifier) -> pool.Summing:
    match choice.pool:
        case "last":
            return pool.last_state
        case "cls":
            return pool.first_place
        case "mean":
            return pool.mean_place
        case "max":
            return pool.highest_place
        case "attention":
            return pool.Queries(schema.memory_width(choice.encoder), choice.queries)
        case _:
            assert_never(choice.pool)


def build_encoder(choice: schema.RecurrentEncoder | schema.TransformerStack, carry: bool) -> Encoder:
    match choice:
        case schema.RecurrentEncoder():
            return recurrent.build_reader(choice, carry)
        case schema.TransformerStack():
            return transformer.build_reader(choice)
        case _:
            assert_never(choice)


def build_decoder(choice: schema.RecurrentDecoder | schema.TransformerStack, memory_width: int) -> Decoder:
    match choice:
        case schema.RecurrentDecoder():
            return recurrent.build_decoder(choice, memory_width)
        case schema.TransformerStack():
            return transformer.build_decoder(choice, memory_width)
        case _:
            assert_never(choice)


def build_writer(choice: schema.RecurrentWriter | schema.TransformerStack) -> Decoder:
    match choice:
        case schema.RecurrentWriter():
            return recurrent.build_writer(choice)
        case schema.TransformerStack():
            return transformer.build_decoder(choice, None)
        case _:
            assert_never(choice)


def _tokens(half: schema.Half, size: int) -> Tokens:
    """Words' vectors, as large as layers of this kind learn well from (decision 41)."""
    match half:
        case schema.RecurrentStack():
            return Tokens(size, half.embedding, half.embedding**0.25 if half.scale_embedding else 1.0)
        case schema.TransformerStack():
            return Tokens(size, half.width, half.width**0.5 if half.scale_embedding else 1.0, half.segments)
        case _:
            assert_never(half)
