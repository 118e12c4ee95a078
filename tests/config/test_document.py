from pathlib import Path

from antiphon.config.document import config_page
from antiphon.config.keys import all_tables

PAGE = Path(__file__).parents[2] / "docs" / "config.md"


def test_the_page_is_the_schema():
    assert PAGE.read_text("utf-8") == config_page(), (
        "write it anew: python -c \"from antiphon.config.document import config_page; print(config_page(), end='')\""
        " > docs/config.md"
    )


def test_every_key_has_a_row_below_its_table():
    sections = config_page().split("\n## ")
    for address, table in all_tables():
        for key in table.model_fields:
            if key != "kind":
                assert any(
                    f"`[{address}]`" in text.splitlines()[0] and f"\n| `{key}` |" in text for text in sections
                ) or (address == "" and f"\n| `{key}` |" in sections[1])


def test_rows_read_well():
    page = config_page()
    assert '| `activation` | `"relu"`, `"gelu"`, `"gelu_tanh"`, `"geglu"`, `"swiglu"` | `"relu"` |' in page
    assert (
        "| `train` | a file name or a list of file names | required | Training pairs: a file or a list of files. |"
        in page
    )
    assert "| `betas` | a list of 2 numbers, each at least 0, below 1 | `[0.9, 0.98]` |" in page
    assert '| `encoder` | a table; `kind` is `"recurrent"`, `"transformer"` | `kind = "recurrent"` |' in page
    assert "| `joint` | true or false | `false` |" in page


def test_every_row_has_four_cells():
    rows = [line for line in config_page().splitlines() if line.startswith("|")]
    assert rows
    assert all(line.replace("\\|", "").count("|") == 5 for line in rows)
