"""Phrases of a treebank with a label at every node, as `label TAB phrase`: `python bench/phrases.py trees.gz [two]`.

With `two`, labels below the middle become 0, those above it 1, and phrases in the middle are left out.
"""

import gzip
import re
import sys
from collections.abc import Iterator
from pathlib import Path


def phrases(tree: str) -> Iterator[tuple[int, str]]:
    """Every node of `(3 (2 a) (4 word))` with all its words, lowercase as the sentences of the same data are."""
    begun: list[tuple[int, int]] = []
    words: list[str] = []
    for mark, label, word in re.findall(r"(\()(\d)|([^\s()]+)|\)", tree):
        if mark:
            begun.append((int(label), len(words)))
        elif word:
            words.append(word.replace("\\/", "/").lower())
        else:
            own, start = begun.pop()
            yield own, " ".join(words[start:])


def main(path: Path, two: bool) -> None:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    found = {pair: None for line in content.decode().splitlines() for pair in phrases(line)}
    for label, phrase in found:
        if not two or label != 2:
            print(f"{int(label > 2) if two else label}\t{phrase}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "two" in sys.argv[2:])
