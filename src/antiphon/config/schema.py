"""Every choice a run can make, with its default and its meaning: the only home of both. Knows no torch."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


class Table(BaseModel):
    """A table of the run file: typed strictly, closed to unknown keys, never changed after reading."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Paths = Annotated[list[str], BeforeValidator(_as_list)]
Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Size = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
FEWEST_PIECES = 300  # of a subword vocabulary: special symbols, bytes, and some letters
Tries = Annotated[int, Field(ge=1, le=1000)]  # at an answer; more take hours, and find nothing better
Depth = Annotated[int, Field(ge=1, le=1000)]  # more would be no model, but a folder made to fill the memory


class Words(Table):
    """Words between spaces, or words and punctuation marks; the rest of the vocabulary is `<unk>`."""

    kind: Literal["words"] = "words"
    size: Size = 30_000
    """The most frequent words that are kept."""
    split: Literal["spaces", "punctuation"] = "spaces"
    """Cut at spaces only (text that is tokenised already, phones), or around punctuation too."""


class Characters(Table):
    """One symbol a character, spaces included."""

    kind: Literal["characters"] = "characters"
    size: Size = 5_000
    """The most frequent characters that are kept."""
    decompose: bool = False
    """Cut each into what it is composed of: a Korean syllable into letters, é into e and an accent. Source only."""


class Bytes(Table):
    """One symbol a UTF-8 byte: any text in 256 symbols, nothing is ever unknown."""

    kind: Literal["bytes"] = "bytes"


class Subwords(Table):
    """Frequent pieces of words; what they cannot spell falls back to bytes (sentencepiece)."""

    kind: Literal["subwords"] = "subwords"
    size: Annotated[int, Field(ge=FEWEST_PIECES)] = 8_000
    """Pieces to learn at the most; of a small corpus fewer, one for 20 of its letters. The report says how many."""
    model: Literal["bpe", "unigram"] = "bpe"
    """Merge the most frequent neighbours (Sennrich et al., 2016), or prune what the text needs least (Kudo, 2018)."""
    dropout: Share = 0.0
    """In training, undo each merge with this probability, anew in every epoch (after Provilkov et al., 2020)."""


class Labels(Table):
    """The labels of a classifier, or a tagger's tags: a closed list, learnt from the training file."""

    kind: Literal["labels"] = "labels"
    between: str = ""
    """What stands between the labels of one text, such as a comma (a tagger's: a space); empty: all is one label."""


class Spelled(Table):
    """Of a tagger: a word is one symbol, and its letters stand behind it, so that an unknown word is known by them."""

    kind: Literal["spelled"] = "spelled"
    size: Size = 30_000
    """The most frequent words that are kept."""
    letters: Size = 1_000
    """The most frequent letters that are kept."""


class ByteBpe(Table):
    """Pieces of UTF-8 bytes: come with an imported GPT-2 or RoBERTa, through `train.start` (Radford et al., 2019)."""

    kind: Literal["byte_bpe"] = "byte_bpe"


class WordPiece(Table):
    """Words, marks and pieces of words: come with an imported BERT, through `train.start` (Wu et al., 2016)."""

    kind: Literal["wordpiece"] = "wordpiece"


Cutting = Words | Characters | Bytes | Subwords | Labels | Spelled | ByteBpe | WordPiece
Tokenizer = Annotated[Cutting, Field(discriminator="kind")]


class Side(Table):
    """How the text of one side becomes symbols."""

    tokenizer: Tokenizer = Subwords()
    """How text is cut into symbols; learnt as part of the training, and kept in the model folder."""


# What a row of a data file is, by the model's kind and `data.window`: source and target; a text; a line of one text;
# a text and its label; two texts and their label; words and as many tags; a question, its paragraph and its answer;
# the same, where there may be no answer.
Rows = Literal["pairs", "texts", "running", "labelled", "compared", "tagged", "answered", "questions"]


class Denoise(Table):
    """Plain text instead of pairs: an encoder-decoder reads a text with holes, anew in every epoch, and mends it."""

    target: Literal["none", "whole", "spans"] = "none"
    """Off; or learn the whole text (BART; Lewis et al., 2020), or what the holes hide (T5; Raffel et al., 2020)."""
    rate: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.3
    """The share of a text's symbols that are hidden."""
    mean_length: Annotated[float, Field(ge=1.0)] = 3.0
    """The symbols that a hole hides, on average; it is one symbol itself."""

    @property
    def on(self) -> bool:
        return self.target != "none"

    @model_validator(mode="after")
    def says_what_is_learnt(self) -> "Denoise":
        idle = sorted(self.model_fields_set - {"target"})
        if not self.on and any(getattr(self, key) != Denoise.model_fields[key].default for key in idle):
            raise ValueError(f'{idle[0]} means nothing while target is "none": set target = "whole" or "spans"')
        return self


class Data(Table):
    """The files: TSV (source TAB target, text TAB label), JSONL, two line-aligned; plain text; SQuAD questions."""

    train: Paths
    """Training pairs: a file or a list of files."""
    train_target: Paths = []
    """The target halves, when `train` holds sources only: line N answers line N."""
    valid: Paths = []
    """Pairs that choose the best weights. Absent: a stable slice of the training pairs is held out."""
    valid_target: Paths = []
    """The target halves of `valid`."""
    test: Paths = []
    """Never trained or validated on; named here, its overlap with the training pairs is reported."""
    test_target: Paths = []
    """The target halves of `test`."""
    source: Side = Side()
    target: Side = Side()
    joint: bool = False
    """One vocabulary for both sides, learnt from both, with `data.source.tokenizer`."""
    max_length: Size = 256
    """Training pairs with more symbols than this on either side are left out, and counted in the report."""
    stride: Count = 0
    """Of questions: a paragraph that is too long is read in windows so many symbols apart; 0: half of `max_length`."""
    window: Count = 0
    """The lines are one running text, learnt from in windows of so many symbols; 0: each is a text by itself."""
    denoise: Denoise = Denoise()
    columns: list[Size] = []
    """The columns of text (or both texts) and label, or of word and tag, from 1. Absent: found by looking."""
    header: bool = False
    """The first line of each labelled TSV file names the columns, and is no row."""

    @property
    def files(self) -> list[tuple[str, str]]:
        """Every file that is named, after the address that names it."""
        keys = ("train", "train_target", "valid", "valid_target", "test", "test_target")
        return [(f"data.{key}", path) for key in keys for path in getattr(self, key)]

    @property
    def target_tokenizer(self) -> Cutting:
        """The choice that holds for the target: with one vocabulary it is the source's."""
        return self.source.tokenizer if self.joint else self.target.tokenizer

    @model_validator(mode="after")
    def writes_whole_characters(self) -> "Data":
        if isinstance(self.target_tokenizer, Characters) and self.target_tokenizer.decompose:
            raise ValueError("tokenizer.decompose is for a source that is only read: leave it out where it is written")
        return self


class NoAttention(Table):
    """The decoder sees the input only through its first state (Sutskever et al., 2014)."""

    kind: Literal["none"] = "none"


class Attending(Table):
    """What every attention of a recurrent decoder can choose."""

    kind: str
    weights: Literal["softmax", "sparsemax", "hard"] = "softmax"
    """All places get a share; or most get none (Martins & Astudillo, 2016); or, in an answer, one gets it all."""
    window: Literal["all", "local_m", "local_p"] = "all"
    """Look everywhere, or near the place that is being written, or near one predicted (Luong et al., 2015)."""
    reach: Size = 10
    """The places of a window on either side of its centre."""


class Reading(Attending):
    """An attention with one set of weights for all that is read."""

    values: Count = 0
    """The width of learned values v(m), read instead of the memory (key-value attention); 0: the memory itself."""


class DotAttention(Reading):
    """q . m: query and memory meet as they are, so their widths must be equal (Luong et al., 2015)."""

    kind: Literal["dot"] = "dot"


class ScaledDotAttention(Reading):
    """(W q) . (U m) / sqrt(width): the score of the Transformer, with one head (Vaswani et al., 2017)."""

    kind: Literal["scaled_dot"] = "scaled_dot"
    width: Size = 256
    """The width in which query and memory meet."""


class BilinearAttention(Reading):
    """q . W m: "general" in Luong et al. (2015)."""

    kind: Literal["bilinear"] = "bilinear"


class AdditiveAttention(Reading):
    """v . tanh(W q + U m) (Bahdanau et al., 2015)."""

    kind: Literal["additive"] = "additive"
    width: Size = 256
    """The width in which query and memory meet."""


class CosineAttention(Reading):
    """s cos(W q, U m): only the direction counts; the sharpness s is learned (Graves et al., 2014)."""

    kind: Literal["cosine"] = "cosine"
    width: Size = 256
    """The width in which query and memory meet."""


class LocationAttention(Reading):
    """v . tanh(W q + U m + L (F * a)): filters over the last weights a tell where one was (Chorowski et al., 2015)."""

    kind: Literal["location"] = "location"
    width: Size = 256
    """The width in which query, memory and filters meet."""
    filters: Size = 10
    """The filters over the last weights."""
    span: Size = 15
    """The places that a filter sees: an odd number, its own place in the middle."""

    @model_validator(mode="after")
    def has_a_middle(self) -> "LocationAttention":
        if self.span % 2 == 0:
            raise ValueError(f"a filter over {self.span} places has no middle: take {self.span + 1}")
        return self


class MultiHeadAttention(Attending):
    """Scaled dot products side by side, each head with its own keys and values (Vaswani et al., 2017)."""

    kind: Literal["multi_head"] = "multi_head"
    width: Size = 256
    """The width in which query and memory meet, and of what is read: all heads together."""
    heads: Size = 4
    """Attentions side by side, each with its share of the width."""

    @model_validator(mode="after")
    def heads_divide_the_width(self) -> "MultiHeadAttention":
        refuse_uneven_heads(self.width, self.heads)
        return self


def refuse_uneven_heads(width: int, heads: int) -> None:
    if width % heads:
        raise ValueError(f"width {width} cannot be shared among {heads} heads: choose a divisor")


Scoring = (
    DotAttention
    | ScaledDotAttention
    | BilinearAttention
    | AdditiveAttention
    | CosineAttention
    | LocationAttention
    | MultiHeadAttention
)
Attention = Annotated[NoAttention | Scoring, Field(discriminator="kind")]
CellName = Literal["elman", "lstm", "gru", "peephole", "full_peephole", "coupled", "orthogonal"]


class RecurrentStack(Table):
    """What both recurrent halves can choose."""

    kind: Literal["recurrent"] = "recurrent"
    cell: CellName = "lstm"
    """The recurrent step: `lstm` and `gru` for quality, the others to compare them with."""
    width: Size = 256
    """The width of the state, in a direction."""
    layers: Depth = 1
    """Cells on top of each other, in a direction."""
    widths: list[Size] = []
    """A width for each layer, from the first, instead of one `width` for all."""
    embedding: Size = 256
    """The width of a word's vector."""
    scale_embedding: bool = True
    """Multiply words' vectors by the fourth root of `embedding`, so that the gates hear them from the first step."""
    residual: bool = False
    """From the second layer on, add what a layer reads to what it leaves (Wu et al., 2016)."""
    dropout: Share = 0.2
    """On embeddings, between layers and on what is handed on."""
    dropout_through_time: bool = False
    """The same numbers are dropped at every place of a sentence (Gal & Ghahramani, 2016)."""

    @property
    def layer_widths(self) -> list[int]:
        return self.widths or [self.width] * self.layers

    @model_validator(mode="after")
    def layers_fit(self) -> Self:
        if self.widths and len(self.widths) != self.layers:
            raise ValueError(f"widths names {len(self.widths)} layers, and layers is {self.layers}: make them equal")
        if self.residual and len(set(self.layer_widths)) > 1:
            raise ValueError("residual = true adds a layer's input to its output, so all widths must be equal")
        return self


class RecurrentEncoder(RecurrentStack):
    """Reads from the left, or from both ends, and leaves a state at every place."""

    directions: Literal[1, 2] = 2
    """Read from the left only, or from both ends."""
    merge: Literal["concat", "mean", "sum", "project"] = "concat"
    """How two directions become one: side by side (twice the width), their mean or sum, or a learned projection."""
    reverse: bool = False
    """Read the source from its end (Sutskever et al., 2014)."""
    summary: Literal["last", "mean", "max", "attention"] = "last"
    """One vector for all: the last state, the mean or the maximum of all places, or what a learned query reads."""

    @property
    def joined_widths(self) -> list[int]:
        """The width of what each layer leaves at every place."""
        beside = self.directions if self.merge == "concat" else 1
        return [width * beside for width in self.layer_widths]


class RecurrentWriter(RecurrentStack):
    """Writes word by word; its state is all that it knows of the words before (Mikolov et al., 2010)."""

    width: Size = 512
    """The width of the state."""


class RecurrentDecoder(RecurrentStack):
    """Writes word by word from a state, looking at the memory through its attention."""

    width: Size = 512
    """The width of the state."""
    attention: Attention = AdditiveAttention()
    """How the decoder looks at the memory."""
    query: Literal["current", "previous"] = "current"
    """Which state asks: the one just computed (Luong et al., 2015) or the one before (Bahdanau et al., 2015)."""
    input_feeding: bool = True
    """What was read is part of the next input. Without it all places train at once in fused kernels."""
    layer_feeding: bool = False
    """The first layer's state asks, and what was read is part of the input of all layers above (Wu et al., 2016)."""
    readout_feeding: bool = True
    """What was read is part of the read-out, beside the state."""
    bridge: Literal["transform", "copy", "zero"] = "transform"
    """The first state: a learned function of the encoder's summary, its last states as they are, or zero."""
    summary_every_step: bool = False
    """The encoder's summary is part of every input (Kalchbrenner & Blunsom, 2013; Cho et al., 2014)."""

    @model_validator(mode="after")
    def sees_the_input(self) -> Self:
        attends = not isinstance(self.attention, NoAttention)
        if not attends and self.bridge == "zero" and not self.summary_every_step:
            raise ValueError('bridge = "zero" without attention shows the decoder nothing of the input: change one')
        if attends and not (self.input_feeding or self.layer_feeding or self.readout_feeding):
            raise ValueError(
                "what attention reads goes nowhere: set input_feeding, layer_feeding or readout_feeding to true"
            )
        if self.layer_feeding and (not attends or self.layers == 1):
            missing = "an attention" if self.layers > 1 else "a second layer"
            raise ValueError(f"layer_feeding = true needs {missing}: add it, or leave this key false")
        return self

    @property
    def reads_the_summary(self) -> bool:
        return self.bridge == "transform" or self.summary_every_step

    @property
    def query_width(self) -> int:
        """The width of the state that asks."""
        return self.layer_widths[0 if self.layer_feeding else -1]


class TransformerStack(Table):
    """Layers of attention and feed-forward networks (Vaswani et al., 2017)."""

    kind: Literal["transformer"] = "transformer"
    width: Size = 256
    """The width of embeddings and of every layer."""
    layers: Depth = 3
    """Layers on top of each other."""
    heads: Size = 4
    """Attentions side by side, each with its share of the width."""
    kv_heads: Count = 0
    """Heads of keys and values, each shared by several heads that ask (Ainslie et al., 2023); 0: as many as `heads`."""
    feedforward: Size = 1024
    """The inner width of the feed-forward networks."""
    activation: Literal["relu", "gelu", "gelu_tanh", "geglu", "swiglu"] = "relu"
    """What bends the feed-forward networks; `gelu_tanh` is nearly `gelu`; the last two have a gate (Shazeer, 2020)."""
    norm: Literal["before", "after"] = "before"
    """A norm before each sub-layer (trains without care), or after it (the original)."""
    rms_norm: bool = False
    """Norms that only divide by the root mean square (Zhang & Sennrich, 2019), instead of layer norms."""
    norm_epsilon: Annotated[float, Field(gt=0.0, le=0.1)] = 1e-5
    """What every norm adds to the variance, so that it never divides by nothing (Ba et al., 2016)."""
    embedding_norm: bool = False
    """A norm on words and positions together, before the first layer (Devlin et al., 2019)."""
    init: Literal["glorot", "depth_scaled"] = "glorot"
    """The first weights; `depth_scaled` divides those of layer n by sqrt(n), for deep stacks (Zhang et al., 2019)."""
    scale_embedding: bool = True
    """Multiply words' vectors by sqrt(width), so that positions do not drown them (Vaswani et al., 2017)."""
    positions: Literal["sinusoidal", "learned", "rotary", "relative", "none"] = "sinusoidal"
    """How a place is told: waves, a learned vector each, turned queries and keys, a bias by distance, not at all."""
    segments: Count = 0
    """Vectors that tell the first text of two from the second, added to those of the words (Devlin et al., 2019)."""
    max_positions: Size = 1024
    """The places that learned positions can tell apart; a longer input is refused."""
    dropout: Share = 0.1
    """On embeddings and on what each sub-layer adds."""
    attention_dropout: Share = 0.0
    """On the attention weights."""
    activation_dropout: Share = 0.0
    """Inside the feed-forward networks."""
    layer_drop: Share = 0.0
    """The probability that a batch skips a layer in training (Fan et al., 2020; after Huang et al., 2016)."""

    @property
    def key_value_heads(self) -> int:
        return self.kv_heads or self.heads

    @model_validator(mode="after")
    def heads_divide_the_width(self) -> "TransformerStack":
        refuse_uneven_heads(self.width, self.heads)
        if self.heads % self.key_value_heads:
            raise ValueError(f"{self.heads} heads cannot share {self.kv_heads} kv_heads evenly: choose a divisor")
        if self.positions == "rotary" and (self.width // self.heads) % 2:
            raise ValueError(
                f"rotary positions turn pairs of numbers, and {self.width // self.heads} a head is odd: change it"
            )
        return self


Encoder = Annotated[RecurrentEncoder | TransformerStack, Field(discriminator="kind")]
Decoder = Annotated[RecurrentDecoder | TransformerStack, Field(discriminator="kind")]
Writer = Annotated[RecurrentWriter | TransformerStack, Field(discriminator="kind")]
Half = RecurrentStack | TransformerStack  # any part of a model that has layers


def embedding_width(half: Half) -> int:
    """The width of the word vectors that this half reads."""
    return half.width if isinstance(half, TransformerStack) else half.embedding


def memory_width(encoder: RecurrentEncoder | TransformerStack) -> int:
    """The width of what this encoder leaves at every place."""
    return encoder.joined_widths[-1] if isinstance(encoder, RecurrentEncoder) else encoder.width


def output_width(decoder: Half) -> int:
    """The width of what this decoder hands its head."""
    return decoder.layer_widths[-1] if isinstance(decoder, RecurrentStack) else decoder.width


def seats(half: Half) -> int | None:
    """The places that learned positions can tell apart; the others have no end."""
    return half.max_positions if isinstance(half, TransformerStack) and half.positions == "learned" else None


def drops_something(half: Half) -> bool:
    """Whether two passes through this half differ in training."""
    if isinstance(half, TransformerStack):
        return any((half.dropout, half.attention_dropout, half.activation_dropout, half.layer_drop))
    return half.dropout > 0


def refuse_unequal_tie(tie: str, embedding: int, output: int) -> None:
    if tie != "none" and embedding != output:
        raise ValueError(f'tie = "{tie}" needs equal model.decoder.embedding ({embedding}) and width ({output})')


class Shape(Table):
    """What every kind of model has."""

    @property
    def halves(self) -> dict[str, Half]:
        """The parts that have layers, by their keys."""
        return {name: getattr(self, name) for name in ("encoder", "decoder") if hasattr(self, name)}

    @property
    def places_added(self) -> int:
        """Places that the model puts before each text."""
        return 0


class Seq2Seq(Shape):
    """n -> m: encode the source, attend to it, predict the target word by word."""

    rows: ClassVar[Rows] = "pairs"
    kind: Literal["seq2seq"] = "seq2seq"
    encoder: Encoder = RecurrentEncoder()
    """What reads the source."""
    decoder: Decoder = RecurrentDecoder()
    """What writes the target."""
    tie: Literal["none", "output", "all"] = "none"
    """Share the target embedding with the output layer, or source, target and output (needs `data.joint`)."""

    @model_validator(mode="after")
    def widths_fit(self) -> "Seq2Seq":
        source, target = embedding_width(self.encoder), embedding_width(self.decoder)
        output = output_width(self.decoder)
        refuse_unequal_tie(self.tie, target, output)
        if self.tie == "all" and source != target:
            raise ValueError(f'tie = "all" needs equal embedding widths: the source has {source}, the target {target}')
        summary_is_read = isinstance(self.decoder, RecurrentDecoder) and self.decoder.reads_the_summary
        if isinstance(self.encoder, RecurrentEncoder) and self.encoder.summary == "attention" and not summary_is_read:
            raise ValueError(
                'encoder.summary = "attention" learns a query for a decoder that never reads the summary; '
                'leave it at "last", or take bridge = "transform" or summary_every_step = true'
            )
        if isinstance(self.decoder, RecurrentDecoder):
            self._refuse_unequal_widths(self.decoder)
        return self

    def _refuse_unequal_widths(self, decoder: RecurrentDecoder) -> None:
        memory, asking = memory_width(self.encoder), decoder.query_width
        if isinstance(decoder.attention, DotAttention) and asking != memory:
            raise ValueError(
                f"dot attention needs equal widths: model.decoder.width is {asking}, the memory's {memory}; "
                'change one, or take attention.kind = "bilinear"'
            )
        left = self.encoder.joined_widths if isinstance(self.encoder, RecurrentEncoder) else [memory]
        for layer, width in enumerate(decoder.layer_widths):
            copied = left[min(layer, len(left) - 1)]
            if decoder.bridge == "copy" and width != copied:
                raise ValueError(
                    f'bridge = "copy" needs equal widths: model.decoder.width is {width}, the memory\'s {copied}; '
                    'change one, or take bridge = "transform"'
                )


class LanguageModel(Shape):
    """1 -> m: predict a text word by word, from nothing but what stands before; or a target from its source there."""

    kind: Literal["language_model"] = "language_model"
    reads: Literal["texts", "pairs"] = "texts"
    """Plain texts; or pairs, a row each: source, `</s>`, target, of which only the target is learnt (a prompt)."""
    decoder: Writer = RecurrentWriter()
    """What writes the text; a Transformer without attention to a source."""
    tie: Literal["none", "output"] = "none"
    """Share the embedding with the output layer."""

    @property
    def rows(self) -> Rows:
        return self.reads

    @model_validator(mode="after")
    def widths_fit(self) -> "LanguageModel":
        refuse_unequal_tie(self.tie, embedding_width(self.decoder), output_width(self.decoder))
        return self


class Classifier(Shape):
    """n -> 1: encode the text, make one vector of it, predict its label; or say yes or no to each label."""

    kind: Literal["classifier"] = "classifier"
    encoder: Encoder = RecurrentEncoder()
    """What reads the text. A recurrent one that is pooled by its last state is an acceptor."""
    pool: Literal["last", "mean", "max", "attention", "cls"] = "mean"
    """One vector: the last state, the mean or maximum of places, what learned queries read, a place put in front."""
    queries: Size = 1
    """Learned queries, each with its own attention over the words (Lin et al., 2017), where pool = "attention"."""
    hidden: Count = 0
    """The width of a layer between that vector and the labels; 0: none."""
    head_dropout: Share = 0.2
    """On that vector, and on the hidden layer."""
    labels: Literal["one", "several"] = "one"
    """Of each text: exactly one label (softmax), or any number of them (a yes or no to each)."""
    texts: Literal["one", "joined", "towers"] = "one"
    """One text; or two, read as one with a separator, or each by itself and then compared (Conneau et al., 2017)."""

    @property
    def rows(self) -> Rows:
        return "labelled" if self.texts == "one" else "compared"

    @property
    def places_added(self) -> int:
        return int(self.pool == "cls")

    @property
    def pooled_width(self) -> int:
        """The width of the one vector that a text becomes."""
        return memory_width(self.encoder) * (self.queries if self.pool == "attention" else 1)

    @model_validator(mode="after")
    def parts_fit(self) -> "Classifier":
        recurrent = isinstance(self.encoder, RecurrentEncoder)
        if self.pool == "last" and not recurrent:
            raise ValueError('pool = "last" is the last state of a recurrent encoder: take "cls" or "mean"')
        if self.pool == "cls" and recurrent:
            raise ValueError('pool = "cls" is a place that looks at all others, of a transformer: take "last"')
        if isinstance(self.encoder, RecurrentEncoder) and self.encoder.summary != "last":
            raise ValueError(f'encoder.summary is for a decoder: leave it out; take pool = "{self.encoder.summary}"')
        return self


class Tagger(Shape):
    """n -> n: encode the sentence, and predict a tag at each of its words."""

    rows: ClassVar[Rows] = "tagged"
    kind: Literal["tagger"] = "tagger"
    encoder: Encoder = RecurrentEncoder()
    """What reads the sentence. A recurrent one is a transducer."""
    pieces: Literal["first", "mean"] = "first"
    """What stands for a word of several symbols: the state of the first, or the mean of all."""
    front: bool = False
    """Put `<s>` before the sentence, as before every text that a masked model read."""
    letters: Count = 0
    """The width of two readers of each word's letters (Ling et al., 2015), where the source is `spelled`; 0: none."""
    output: Literal["softmax", "chain"] = "softmax"
    """Tags by themselves, or a linear-chain conditional random field over them (Lafferty et al., 2001)."""
    hidden: Count = 0
    """The width of a layer between a word's state and its tag; 0: none."""
    head_dropout: Share = 0.2
    """On that state, and on the hidden layer."""

    @property
    def places_added(self) -> int:
        return int(self.front)

    @model_validator(mode="after")
    def parts_fit(self) -> "Tagger":
        if isinstance(self.encoder, RecurrentEncoder) and self.encoder.summary != "last":
            raise ValueError("encoder.summary is for a decoder, and a tagger has none: leave it out")
        if self.front and self.letters:
            raise ValueError(
                "front = true puts a symbol before a sentence, and with letters it is read in words: drop one"
            )
        return self


class Masked(Shape):
    """n -> n: predict hidden words from those on both sides, for other models to start from (Devlin et al., 2019)."""

    rows: ClassVar[Rows] = "texts"
    kind: Literal["masked"] = "masked"
    encoder: Encoder = TransformerStack()
    """What reads the text, or both texts."""
    hide: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.15
    """The share of words that are to be guessed, drawn anew in every epoch; at least one a text."""
    holes: Annotated[float, Field(ge=0.0, le=1.0)] = 0.8
    """The share of these that are read as holes."""
    strange: Annotated[float, Field(ge=0.0, le=1.0)] = 0.1
    """The share of these that are read as some other word; the rest is read as it is."""
    whole_words: bool = False
    """Hide all symbols of a word together."""
    next_sentence: bool = False
    """Read two texts, and say whether the second follows the first; needs `data.window`."""

    @property
    def places_added(self) -> int:
        return 1

    @model_validator(mode="after")
    def parts_fit(self) -> "Masked":
        if self.holes + self.strange > 1:
            raise ValueError(f"holes ({self.holes}) and strange ({self.strange}) are shares of one whole: lower one")
        if isinstance(self.encoder, RecurrentEncoder) and self.encoder.summary != "last":
            raise ValueError("encoder.summary is for a decoder, and a masked model has none: leave it out")
        return self


class Spans(Shape):
    """n -> (start, end): read a question and its paragraph, and find the answer there (Devlin et al., 2019)."""

    kind: Literal["spans"] = "spans"
    encoder: Encoder = RecurrentEncoder()
    """What reads question and paragraph, as one text."""
    front: bool = True
    """Put a place before the question, BERT's [CLS]; where there is no answer it is pointed at."""
    no_answer: bool = False
    """Whether "no answer" may be said; without `front` it is the question's end that is pointed at."""
    longest: Size = 30
    """Symbols in an answer at the most."""
    head_dropout: Share = 0.1
    """On the states that are pointed at."""

    @property
    def rows(self) -> Rows:
        return "questions" if self.no_answer else "answered"

    @property
    def places_added(self) -> int:
        return int(self.front)

    @model_validator(mode="after")
    def parts_fit(self) -> "Spans":
        if not isinstance(self.encoder, RecurrentEncoder):
            return self
        if self.encoder.summary != "last":
            raise ValueError("encoder.summary is for a decoder, and spans have none: leave it out")
        if self.no_answer and self.encoder.directions == 1 and not self.encoder.reverse:
            raise ValueError(
                "no_answer = true is told at a place before the paragraph, which one direction has not read there: "
                "take encoder.directions = 2"
            )
        return self


Labelling = Classifier | Tagger
Model = Annotated[Seq2Seq | LanguageModel | Classifier | Tagger | Masked | Spans, Field(discriminator="kind")]


class TeacherForcing(Table):
    """What a decoder reads next: the true word, or its own (scheduled sampling; Bengio et al., 2015)."""

    p: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """The probability of the true word: held, or fallen to from 1. Below 1 every update writes before it learns."""
    schedule: Literal["held", "linear", "exponential", "inverse_sigmoid"] = "held"
    """Hold p, or let it fall from 1: in a line, by the same share every step, or slowly, fast and slowly again."""
    half: Count = 0
    """The step at which it has fallen half the way; needed unless it is held."""
    own: Literal["best", "sampled"] = "best"
    """The model's own word: the likeliest, or one drawn from its distribution."""

    @model_validator(mode="after")
    def falls_or_not(self) -> "TeacherForcing":
        if self.schedule == "held":
            if self.half:
                raise ValueError(f'half = {self.half} means nothing while p is held: set schedule = "linear", say')
            return self
        if not self.half:
            raise ValueError(f'schedule = "{self.schedule}" needs half: the step at which p has fallen half the way')
        if self.p == 1.0:
            raise ValueError(f'schedule = "{self.schedule}" falls from 1 to p, and p is 1: lower p, to 0.0 for example')
        return self


class Corruption(Table):
    """Noise on the words of the source, anew in every step; its end and at least one word stay."""

    swap: Share = 0.0
    """The probability that a word changes places with the one after it; none moves twice."""
    replace: Share = 0.0
    """The probability that a word becomes one drawn from the source vocabulary, where all are alike."""
    drop: Share = 0.0
    """The probability that a word is left out."""


class Start(Table):
    """Model folders whose weights the halves of this run begin with; shape and tokeniser are taken from there too."""

    encoder: str = ""
    """A folder with an encoder: of any kind of model but a language model. Empty: random weights."""
    decoder: str = ""
    """A folder with a decoder: of a `language_model` or a seq2seq. What looks at a source is new where it had none."""

    @property
    def folders(self) -> dict[str, str]:
        """The folders that are named, by half."""
        return {half: folder for half, folder in (("encoder", self.encoder), ("decoder", self.decoder)) if folder}


class Train(Table):
    """How the weights are found."""

    max_steps: Count = 10_000
    """Updates of the weights; 0: no limit. The first of the three limits ends the run."""
    max_epochs: Count = 0
    """Passes over the data; 0: no limit."""
    max_minutes: Annotated[float, Field(ge=0.0)] = 0.0
    """Minutes of training, all sittings together; 0: no limit."""
    batch_tokens: Size = 4096
    """Symbols in a batch, on the longer side, padding included."""
    accumulate: Size = 1
    """Batches whose gradients are summed before one update, for larger ones than memory holds (Ott et al., 2018)."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """AdamW; or Muon for the matrices of encoder and decoder, and AdamW for the rest (Jordan et al., 2024)."""
    learning_rate: Annotated[float, Field(gt=0.0)] = 1e-3
    """The highest rate, reached after `warmup` steps."""
    warmup: Count = 400
    """Steps in which the rate rises from nothing."""
    schedule: Literal["inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    """Then it falls as 1 / sqrt(step) (Vaswani et al., 2017), or to 0 at `max_steps` (Loshchilov & Hutter, 2017)."""
    betas: Annotated[list[Share], Field(min_length=2, max_length=2)] = [0.9, 0.98]
    """AdamW's memory of gradients and of their squares (Kingma & Ba, 2015)."""
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.01
    """The pull towards zero, on matrices only (Loshchilov & Hutter, 2019)."""
    clip: Annotated[float, Field(ge=0.0)] = 1.0
    """The largest gradient norm; 0: no clipping."""
    label_smoothing: Share = 0.1
    """Probability given to all words alike instead of the right one (Szegedy et al., 2016)."""
    balance: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """Weigh each label by 1 / its frequency to this power: 0 counts texts alike, 1 counts labels alike."""
    r_drop: Annotated[float, Field(ge=0.0)] = 0.0
    """Learn from two passes that drop different numbers, and add so much of their divergence (Liang et al., 2021)."""
    teacher_forcing: TeacherForcing = TeacherForcing()
    word_dropout: Share = 0.0
    """The probability that a word that is read, by a decoder if there is one, is `<unk>` (Bowman et al., 2016)."""
    corruption: Corruption = Corruption()
    ema: Share = 0.0
    """Judge and keep a moving average of the weights with this memory (Polyak & Juditsky, 1992); 0: off."""
    average: Count = 0
    """At the end, keep the mean of this many best validations' weights if better (Vaswani et al., 2017); 0: off."""
    metric: Literal["loss", "bleu", "exact_match", "accuracy", "f1"] = "loss"
    """What "best" means on the validation pairs; `f1` is the mean over labels, or over answers that are spans."""
    patience: Count = 0
    """Stop after this many validations without a new best; 0: never."""
    validate_every: Size = 500
    """Steps between validations."""
    save_every: Size = 500
    """Steps between checkpoints; a killed run goes on from the last one, exactly."""
    self_check: bool = True
    """Before training, overfit one batch in a scratch copy and compare teacher-forced with free-running answers."""
    start: Start = Start()
    freeze: list[str] = []
    """Parts of the model that stay as they start: "encoder", "source", "encoder.layers.0" and what else has weights."""
    layer_decay: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """Each layer learns this many times as fast as the one above it (Howard & Ruder, 2018); 1: all alike."""

    @model_validator(mode="after")
    def some_limit(self) -> "Train":
        if not (self.max_steps or self.max_epochs or self.max_minutes):
            raise ValueError("this run would never end: set max_steps, max_epochs or max_minutes")
        if self.schedule == "cosine" and not self.max_steps:
            raise ValueError('schedule = "cosine" needs max_steps: the rate reaches zero there')
        return self


class Search(Table):
    """How an answer is chosen."""

    beam: Tries = 5
    """Hypotheses that are kept; 1 is greedy search."""
    n_best: Tries = 1
    """Answers to give a line; at most `beam`."""
    length_exponent: Annotated[float, Field(ge=0.0, le=10.0)] = 1.0
    """score = log-probability / length ^ exponent; 0 prefers short answers, above 1 long ones."""
    length_penalty: Literal["power", "gnmt"] = "power"
    """What the exponent is of: the length, or (5 + length) / 6 (Wu et al., 2016)."""
    coverage: Annotated[float, Field(ge=0.0)] = 0.0
    """What an answer loses for leaving its source unread: x sum log min(attention, 1) (Wu et al., 2016); 0: nothing."""
    groups: Size = 1
    """Groups that the beam is divided into, each shy of the words of those before (Vijayakumar et al., 2018)."""
    diversity: Annotated[float, Field(ge=0.0)] = 0.5
    """What a word costs a group for each hypothesis of a group before it that has the same word there."""
    no_repeat: Count = 0
    """So many symbols are never said twice in the same order (Paulus et al., 2018); 0: they may be."""
    max_repeats: Count = 0
    """No symbols, however many, are said more often than this in a row; 0: they may be."""
    prefix: str = ""
    """What every answer begins with."""
    contain: list[str] = []
    """Phrases that every answer contains, each from the beginning of a word on."""
    avoid: list[str] = []
    """Texts that no answer contains, not even inside a word; with a space before and after it only as a word."""
    glossary: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = []
    """Pairs of terms: where the source holds the first, the answer contains the second."""
    keep: list[str] = []
    """Terms that the answer contains as they are, where the source holds them."""
    answers: list[str] = []
    """The only answers there are; of these the constraints above leave those that keep to them. None: any answer."""
    max_source: Size = 1024
    """Symbols in a source at the most; a longer one is refused."""
    max_length: Size = 512
    """Symbols in an answer at the most, its end counted."""
    max_ratio: Annotated[float, Field(ge=0.0)] = 0.0
    """At most ratio x source symbols + 10 in an answer; 0: learnt from the training pairs."""
    sample: bool = False
    """Draw answers instead of searching for the best: an exact sample at temperature 1."""
    temperature: Annotated[float, Field(gt=0.0)] = 1.0
    """Below 1 draws likelier symbols, above 1 rarer ones."""
    top_k: Count = 0
    """Draw from the k likeliest symbols only; 0: all."""
    top_p: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """Draw from the likeliest symbols that hold this much probability."""
    min_p: Share = 0.0
    """Draw from symbols at least this much as likely as the likeliest (Nguyen et al., 2025); 0: all."""
    seed: Count = 1
    """Line n is drawn with (seed, n): the same in any batch."""
    mbr: Literal["none", "chrf", "bleu"] = "none"
    """Of all hypotheses or draws give those most like the others by this measure (Kumar & Byrne, 2004)."""
    draws: Tries = 16
    """Draws that `mbr` and a reverse model choose from, where answers are drawn; without `sample` it is the beam."""
    reverse_weight: Annotated[float, Field(ge=0.0)] = 1.0
    """score + weight x mean log P(source symbol | answer), where a reverse model is given (Li et al., 2016)."""
    model_of_answers_weight: Annotated[float, Field(ge=0.0)] = 0.1
    """score + weight x mean log P(answer symbol), where a language model of answers is given."""

    @property
    def candidates(self) -> int:
        """Answers to choose from, where something chooses."""
        return max(self.draws, self.n_best) if self.sample else self.beam

    @model_validator(mode="after")
    def parts_fit(self) -> "Search":
        if not self.sample and self.n_best > self.beam:
            raise ValueError(f"n_best {self.n_best} is more than beam {self.beam} can give: raise beam")
        if self.mbr != "none" and not self.sample and self.beam == 1:
            raise ValueError("mbr chooses among several answers: raise beam, or set sample = true")
        if self.beam % self.groups:
            raise ValueError(
                f"beam {self.beam} cannot be divided into {self.groups} groups of the same size: change one"
            )
        # Among listed answers these only tell which are left.
        demanding = [key for key in ("contain", "glossary", "keep") if getattr(self, key) and not self.answers]
        if self.groups > 1 and demanding:
            raise ValueError(f"{demanding[0]} needs the whole beam: leave groups at 1")
        if self.sample:
            searching = [*demanding, *["groups"] * (self.groups > 1), *["coverage"] * (self.coverage > 0.0)]
            if searching:
                raise ValueError(f"{searching[0]} needs beam search, and sample = true draws answers: drop one of them")
        return self


_LEAST_WINDOW = 8  # symbols: a start, two ends, and something to guess


def _joint(data: Any) -> Any:
    """Answers that are spans are in the symbols of their texts."""
    if isinstance(data, Data) and "joint" not in data.model_fields_set:
        return data.model_copy(update={"joint": True})
    return {"joint": True} | data if isinstance(data, dict) else data


class Run(Table):
    """A whole run file."""

    seed: Count = 1
    """Where every random draw begins: the same seed gives the same model on the same machine."""
    data: Data
    model: Model = Seq2Seq()
    """The shape of the model, and its parts."""
    train: Train = Train()
    search: Search = Search()

    @property
    def rows(self) -> Rows:
        """What a line of a data file is."""
        return "running" if self.data.window else "texts" if self.data.denoise.on else self.model.rows

    @property
    def carries_state(self) -> bool:
        """Whether each batch goes on from the state in which the one before ended."""
        running = isinstance(self.model, LanguageModel) and self.rows == "running"
        return running and not isinstance(self.model.halves["decoder"], TransformerStack)

    @property
    def has_source(self) -> bool:
        return self.model.rows != "texts"

    @property
    def joins(self) -> bool:
        """Whether source and target are one row."""
        return isinstance(self.model, LanguageModel) and self.has_source

    @model_validator(mode="before")
    @classmethod
    def one_vocabulary_by_default(cls, values: Any) -> Any:
        """Where both sides are of one kind by nature, they have one vocabulary unless the run says otherwise."""
        model, data = (values.get("model"), values.get("data")) if isinstance(values, dict) else (None, None)
        reads = model.get("reads") if isinstance(model, dict) else getattr(model, "reads", None)
        noise = data.get("denoise") if isinstance(data, dict) else getattr(data, "denoise", None)
        denoised = noise.get("target", "none") if isinstance(noise, dict) else getattr(noise, "target", "none")
        if reads != "pairs" and denoised == "none":
            return values
        if isinstance(data, Data) and "joint" not in data.model_fields_set:
            return values | {"data": data.model_copy(update={"joint": True})}
        return values | {"data": {"joint": True} | data} if isinstance(data, dict) else values

    @model_validator(mode="before")
    @classmethod
    def labels_by_default(cls, values: Any) -> Any:
        """Where the model gives labels, the target is cut into labels unless the run says how."""
        model, data = (values.get("model"), values.get("data")) if isinstance(values, dict) else (None, None)
        kind = model.get("kind") if isinstance(model, dict) else getattr(model, "kind", None)
        if kind == "spans":
            return values | {"data": _joint(data)}
        if kind not in ("classifier", "tagger"):
            return values
        several = (model.get("labels") if isinstance(model, dict) else getattr(model, "labels", None)) == "several"
        between = " " if kind == "tagger" else "," if several else ""
        if isinstance(data, Data) and "target" not in data.model_fields_set:
            return values | {"data": data.model_copy(update={"target": Side(tokenizer=Labels(between=between))})}
        if isinstance(data, dict) and not data.get("target"):
            return values | {"data": data | {"target": {"tokenizer": {"kind": "labels", "between": between}}}}
        return values

    @model_validator(mode="after")
    def parts_fit(self) -> "Run":
        if isinstance(self.model, Seq2Seq) and self.model.tie == "all" and not self.data.joint:
            raise ValueError(
                'model.tie = "all" shares one embedding, so both sides need one vocabulary: set data.joint = true'
            )
        if self.search.max_source < self.data.max_length and not self.data.window:
            raise ValueError(
                f"search.max_source ({self.search.max_source}) must be at least data.max_length "
                f"({self.data.max_length}), or a validation pair could be refused"
            )
        drops = [f"model.{name}.dropout" for name in self.model.halves]
        drops += ["model.head_dropout"] if hasattr(self.model, "head_dropout") else []
        at_all = getattr(self.model, "head_dropout", 0.0) or any(map(drops_something, self.model.halves.values()))
        if self.train.r_drop and not at_all:
            raise ValueError(
                "train.r_drop compares two passes that drop different numbers, and this model drops none: "
                f"raise {' or '.join(drops)}"
            )
        for name, half in self.model.halves.items():
            if name == "decoder" and isinstance(half, TransformerStack) and half.segments:
                raise ValueError(
                    "model.decoder.segments tells two texts apart that an encoder reads at once: leave it out"
                )
            places = seats(half)
            if self.data.window and places is not None and places < self.data.window:
                raise ValueError(
                    f"model.{name}.max_positions ({places}) must be at least data.window ({self.data.window})"
                )
            if self.joins and places is not None and places < 2 * self.data.max_length + 2:
                raise ValueError(
                    f"model.{name}.max_positions ({places}) must be above 1 + 2 x data.max_length "
                    f"({self.data.max_length}), to seat the longest source, its end and the longest target in one row"
                )
            added = self.model.places_added
            if not self.data.window and places is not None and places <= self.data.max_length + added:
                front = ", and what is put before it" if added else ""
                raise ValueError(
                    f"model.{name}.max_positions ({places}) must be above {'1 + ' * added}data.max_length "
                    f"({self.data.max_length}), to seat the longest training pair and its end{front}"
                )
        return self

    @model_validator(mode="after")
    def holes_are_made_in_texts(self) -> "Run":
        data, model = self.data, self.model
        if not data.denoise.on:
            return self
        if not isinstance(model, Seq2Seq):
            raise ValueError(f'data.denoise is of model.kind = "seq2seq", and this is a {model.kind}: leave it out')
        idle = [f"data.{key}" for key in ("train_target", "valid_target", "test_target") if getattr(data, key)]
        if idle:
            raise ValueError(f"{idle[0]}: data.denoise makes pairs of plain texts: leave this key out")
        if not data.joint:
            raise ValueError("data.joint: data.denoise has one vocabulary for both sides: leave it out")
        if data.target != Side():
            raise ValueError(
                "data.target.tokenizer: data.denoise has one vocabulary for both sides, and its tokeniser is "
                "data.source.tokenizer: leave this key out"
            )
        if data.denoise.target == "spans" and self.train.teacher_forcing != TeacherForcing():
            raise ValueError(
                "train.teacher_forcing: a model's own words are never holes, which data.denoise.target "
                '= "spans" learns: leave it out, or take "whole"'
            )
        return self

    @model_validator(mode="after")
    def texts_have_no_source(self) -> "Run":
        if self.model.rows != "texts":
            if self.data.window:
                kind = 'model.kind = "language_model" or "masked"'
                needed = 'model.reads = "texts"' if self.joins else kind
                raise ValueError(f"data.window cuts a running text, which needs {needed}")
            if self.joins and not self.data.joint:
                raise ValueError('data.joint: model.reads = "pairs" has one vocabulary for both sides: leave it out')
            if self.joins and self.data.target != Side():
                raise ValueError(
                    'data.target.tokenizer: model.reads = "pairs" has one vocabulary for both sides, and its tokeniser '
                    "is data.source.tokenizer: leave this key out"
                )
            return self
        idle = [f"data.{key}" for key in ("train_target", "valid_target", "test_target") if getattr(self.data, key)]
        idle += ["data.source.tokenizer"] if self.data.source != Side() else []
        idle += ["data.joint"] if self.data.joint else []
        idle += ["train.corruption"] if self.train.corruption != Corruption() else []
        if idle:
            instead = " (its tokeniser is data.target.tokenizer)" if idle[0] == "data.source.tokenizer" else ""
            masked = isinstance(self.model, Masked)
            instead = ' (unless model.reads = "pairs")' if idle[0].endswith("_target") and not masked else instead
            kind = "masked" if masked else "language"
            raise ValueError(f"{idle[0]}: a {kind} model has no source{instead}: leave this key out")
        if self.train.metric != "loss":
            raise ValueError(f'train.metric = "{self.train.metric}" judges answers, and a text has none: take "loss"')
        if isinstance(self.model, Masked):
            return self._refuse_idle_of_holes(self.model)
        if self.data.window and isinstance(self.data.target.tokenizer, Subwords) and self.data.target.tokenizer.dropout:
            raise ValueError(
                "data.target.tokenizer.dropout spells a text anew, and a window is cut by symbols: "
                "set it to 0, or data.window = 0"
            )
        if self.data.window and self.train.teacher_forcing != TeacherForcing():
            raise ValueError(
                "train.teacher_forcing writes from a text's beginning: leave it out, or set data.window = 0"
            )
        return self

    @model_validator(mode="after")
    def labels_are_labels(self) -> "Run":
        """What a model of labels cannot use, and what only such a model can, is refused."""
        model, tokenizer = self.model, self.data.target.tokenizer
        judges = self.train.metric == "accuracy" or (self.train.metric == "f1" and not isinstance(model, Spans))
        if isinstance(self.data.source.tokenizer, Labels):
            raise ValueError('data.source.tokenizer.kind = "labels" is of a target: take another kind')
        spelled = isinstance(self.data.source.tokenizer, Spelled)
        if isinstance(tokenizer, Spelled) or (spelled and not isinstance(model, Tagger)):
            raise ValueError('tokenizer.kind = "spelled" is of the source of a tagger: take another kind')
        if not isinstance(model, Labelling):
            if isinstance(tokenizer, Labels):
                raise ValueError('data.target.tokenizer.kind = "labels" is of a classifier: take another kind')
            idle = ["train.balance"] if self.train.balance else []
            idle += ["data.columns"] if self.data.columns else []
            idle += ["data.header"] if self.data.header else []
            if idle or judges:
                key = idle[0] if idle else f'train.metric = "{self.train.metric}"'
                raise ValueError(f'{key} is of labels, and model.kind = "{model.kind}" gives none: leave it out')
            return self
        if not isinstance(tokenizer, Labels):
            raise ValueError(f"data.target.tokenizer: a {model.kind} answers with labels: leave this key out")
        if isinstance(model, Tagger):
            self._refuse_idle_of_tags(model, tokenizer, spelled)
            return self._judged_by(judges)
        if bool(tokenizer.between) != (model.labels == "several"):
            raise ValueError(
                f'data.target.tokenizer.between = "{tokenizer.between}" parts the labels of one text, and model.labels '
                f'is "{model.labels}": change one'
            )
        self._refuse_idle_of_labels(model)
        return self._judged_by(judges)

    def _refuse_idle_of_holes(self, model: Masked) -> "Run":
        tokenizer = self.data.target.tokenizer
        idle = ["data.target.tokenizer.dropout"] if isinstance(tokenizer, Subwords) and tokenizer.dropout else []
        idle += ["train.teacher_forcing"] if self.train.teacher_forcing != TeacherForcing() else []
        idle += ["train.word_dropout"] if self.train.word_dropout else []
        idle += ["train.r_drop"] if self.train.r_drop else []
        if idle:
            raise ValueError(f"{idle[0]}: a masked model hides words by itself: leave this key out")
        if model.next_sentence and not self.data.window:
            raise ValueError("model.next_sentence reads neighbouring lines: set data.window, 128 for example")
        if 0 < self.data.window < _LEAST_WINDOW:
            raise ValueError(f"data.window = {self.data.window} is too short for two texts: at least {_LEAST_WINDOW}")
        return self

    def _judged_by(self, judges: bool) -> "Run":
        if self.train.metric != "loss" and not judges:
            raise ValueError(f'train.metric = "{self.train.metric}" compares texts: take "accuracy", "f1" or "loss"')
        return self

    def _refuse_idle_of_tags(self, model: Tagger, tokenizer: Labels, spelled: bool) -> None:
        source = self.data.source.tokenizer
        if tokenizer.between != " ":
            raise ValueError("data.target.tokenizer.between: a space parts the tags of a sentence: leave this key out")
        if self.data.columns and len(set(self.data.columns)) != 2:
            raise ValueError(f"data.columns = {self.data.columns} must name two columns: that of words, that of tags")
        if bool(model.letters) != spelled:
            raise ValueError(
                f'model.letters = {model.letters} and data.source.tokenizer.kind = "{source.kind}" do not fit: '
                'letters are read where the kind is "spelled", and nowhere else'
            )
        idle = ["data.joint"] if self.data.joint else []
        idle += ["data.header"] if self.data.header else []
        idle += ["train.teacher_forcing"] if self.train.teacher_forcing != TeacherForcing() else []
        idle += ["train.corruption"] if self.train.corruption != Corruption() else []
        idle += ["data.source.tokenizer.dropout"] if isinstance(source, Subwords) and source.dropout else []
        idle += ["train.balance"] if self.train.balance and model.output == "chain" else []
        idle += ["train.label_smoothing"] if self.train.label_smoothing and model.output == "chain" else []
        idle += ["train.r_drop"] if self.train.r_drop and (model.output == "chain" or self.train.balance) else []
        if idle:
            number = idle[0] not in ("data.header", "train.teacher_forcing", "train.corruption")
            instead = "set it to 0" if number else "leave this key out"
            raise ValueError(f"{idle[0]}: cannot be used by this {model.kind}: {instead}")

    def _refuse_idle_of_labels(self, model: Classifier) -> None:
        texts = 1 + (model.texts != "one")
        if self.data.columns and len(set(self.data.columns)) != texts + 1:
            raise ValueError(
                f"data.columns = {self.data.columns} must name {texts + 1} different columns: "
                f"{'that of the text' if texts == 1 else 'those of both texts'}, and last that of the label"
            )
        idle = ["data.joint"] if self.data.joint else []
        idle += ["train.teacher_forcing"] if self.train.teacher_forcing != TeacherForcing() else []
        idle += ["train.corruption"] if self.train.corruption != Corruption() and texts > 1 else []
        if idle:
            raise ValueError(f"{idle[0]}: means nothing to this {model.kind}: leave this key out")
        plain = model.labels == "one" and not self.train.balance
        if self.train.r_drop and not plain:
            raise ValueError('train.r_drop needs model.labels = "one" and train.balance = 0.0: leave it out')

    @model_validator(mode="after")
    def spans_are_found(self) -> "Run":
        """What a model of spans cannot use, and what only such a model can, is refused."""
        if not isinstance(self.model, Spans):
            if self.data.stride:
                raise ValueError(
                    f'data.stride is of questions, and model.kind = "{self.model.kind}" reads none: leave this key out'
                )
            return self
        if not self.data.joint or self.data.target != Side():
            raise ValueError("data.target, data.joint: answers that are spans are parts of their texts: leave both out")
        if self.data.stride > self.data.max_length:
            raise ValueError(
                f"data.stride ({self.data.stride}) beyond data.max_length ({self.data.max_length}) would skip symbols: "
                "lower it"
            )
        source = self.data.source.tokenizer
        idle = ["train.teacher_forcing"] if self.train.teacher_forcing != TeacherForcing() else []
        idle += ["train.corruption"] if self.train.corruption != Corruption() else []
        idle += ["train.r_drop"] if self.train.r_drop else []
        idle += ["data.source.tokenizer.dropout"] if isinstance(source, Subwords) and source.dropout else []
        targets = ("train_target", "valid_target", "test_target")
        idle += [f"data.{key}" for key in targets if getattr(self.data, key)]
        if idle:
            raise ValueError(f"{idle[0]}: cannot be used by a model of spans: leave this key out")
        if self.train.metric not in ("loss", "exact_match", "f1"):
            raise ValueError(
                f'train.metric = "{self.train.metric}" judges no spans: take "exact_match", "f1" or "loss"'
            )
        return self
