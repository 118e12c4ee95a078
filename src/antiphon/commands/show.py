"""`antiphon show`: where a model looked."""

from pathlib import Path

from antiphon.api import load
from antiphon.commands.lines import in_colour, refuse_ending, terminal
from antiphon.files import write_text
from antiphon.show.heatmap import html_page, svg
from antiphon.show.heatmap import terminal as draw


def run_show(folder: Path, text: str, out: Path | None) -> None:
    refuse_ending(out)
    picture = load(folder).show(text)
    console = terminal()
    console.file.write(draw(picture, min(console.width, 120), in_colour(console)) + "\n")
    if out is not None:
        write_text(
            out, svg(picture) if out.suffix == ".svg" else html_page([picture], "Attention", f"Model: {folder.name}")
        )
        console.print(f"Written: {out}", markup=False)
