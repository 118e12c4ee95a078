"""The command line in this process: arguments in; exit code, standard output and standard error out."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from antiphon.cli import main


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@pytest.fixture
def antiphon(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    def run(*arguments: object, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "argv", ["antiphon", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert "\x1b" not in out + err, "nothing here is a terminal"
        assert "Traceback" not in err
        return Ended(code, out, err)

    return run
