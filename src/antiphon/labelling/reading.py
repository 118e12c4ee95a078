"""What a classifier and a tagger share: how much they can read."""

from collections.abc import Sequence

from antiphon.config.schema import Classifier, Run, Search, seats
from antiphon.errors import AntiphonError


def refuse_too_long(run: Run, encoded: Sequence[Sequence[int]], search: Search, places: Sequence[str]) -> None:
    """`places` names each text, as file:line."""
    longest = search.max_source
    for half in run.model.halves.values():
        seated = seats(half)
        added = run.model.places_added if isinstance(run.model, Classifier) else 0
        longest = longest if seated is None else min(longest, seated - 1 - added)
    for place, symbols in zip(places, encoded, strict=True):
        if len(symbols) > longest:
            raise AntiphonError(
                f"{place}: {len(symbols):,} symbols, and this model reads at most {longest:,}. "
                "Split the text, or raise search.max_source where memory allows."
            )
