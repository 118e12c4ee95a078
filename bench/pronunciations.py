"""Cut a pronouncing dictionary into train, valid and test pairs: python bench/pronunciations.py DICTIONARY FOLDER.

Words are parted by their md5; in training and validation a word has its first pronunciation, in the test all of them,
a line each, for `antiphon evaluate --any-target`.
"""

import sys
from pathlib import Path

from antiphon.data.builtin import read_dictionary, read_pronunciations

dictionary, folder = Path(sys.argv[1]), Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
parts, (words, _) = read_pronunciations(dictionary), read_dictionary(dictionary)
every = [(word, spoken) for word, _ in parts.test for spoken in words[word]]
for name, pairs in (("train", parts.train), ("valid", parts.valid), ("test", every)):
    (folder / f"{name}.tsv").write_text("".join(f"{word}\t{spoken}\n" for word, spoken in pairs), encoding="utf-8")
    print(f"{folder / name}.tsv: {len(pairs):,} pairs")
