"""All English text of the data sets, a sentence or turn a line, an empty line between documents, to pre-train on.

`python bench/plain_text.py DATA > text.txt`: lower-cased, words and marks apart, as the sentences of sst are.
"""

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

Document = list[str]


def read(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().split("\n")


def wiki(folder: Path) -> Iterator[Document]:
    for name in ("valid", "test"):
        for line in read(folder / "wikitext2" / f"{name}.txt.gz"):
            if not line.strip().startswith("="):
                yield re.split(r"(?<= [.?!]) ", line.replace(" @-@ ", "-").replace(" @,@ ", ",").replace("<unk>", ""))


def mails(folder: Path) -> Iterator[Document]:
    for line in read(folder / "aeslc" / "train.jsonl.gz"):
        if line:
            yield json.loads(line)["body"].split("\n")


def dialogues(folder: Path) -> Iterator[Document]:
    for line in read(folder / "dailydialog" / "train.dedup.txt.gz"):
        yield re.split(r"__eou__|\t", line)


def restaurants(folder: Path) -> Iterator[Document]:
    """One text a record: the others say the same again."""
    rows = (line.split("\t") for line in read(folder / "e2e" / "trainset.tokenised.tsv.gz") if "\t" in line)
    for text in dict(rows).values():
        yield re.split(r"(?<= [.?!]) ", text)


def speeches(folder: Path) -> Iterator[Document]:
    for speech in "\n".join(read(folder / "tinyshakespeare" / "input.txt.gz")).split("\n\n"):
        yield speech.split("\n")[1:]


def treebank(folder: Path) -> Iterator[Document]:
    found: Document = []
    for line in read(folder / "ud_english_ewt" / "en_ewt-ud-train.conllu.gz"):
        if line.startswith("# newdoc"):
            yield found
            found = []
        elif line.startswith("# text = "):
            found.append(line.removeprefix("# text = "))
    yield found


def reviews(folder: Path) -> Iterator[Document]:
    """The sentences to learn from, without their labels."""
    for line in read(folder / "sst" / "stsa.fine.train.gz"):
        yield [line.partition(" ")[2]]


def tidy(line: str) -> str:
    return " ".join(
        re.findall(r"\w+(?:-\w+)*|'\w+|[^\w\s]", line.lower().replace("\u2019 ", "'").replace("\u2019", "'"))
    )


def main(folder: Path) -> None:
    for source in (wiki, mails, dialogues, restaurants, speeches, treebank, reviews):
        for document in source(folder):
            lines = [line for line in map(tidy, document) if line]
            if lines:
                print("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
