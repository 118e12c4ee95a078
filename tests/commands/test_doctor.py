"""`antiphon doctor`: what this machine has, and what is missing."""

import json
from importlib.metadata import PackageNotFoundError

from antiphon.commands import doctor


def test_lines_for_people(antiphon):
    ended = antiphon("doctor")
    assert ended.code == 0
    assert "torch            2." in ended.out
    assert ended.out.endswith("Ready: antiphon demo\n")


def test_json_for_machines(antiphon):
    found = json.loads(antiphon("doctor", "--json").out)
    assert found["problems"] == []
    assert found["gigaflops"] > 0.1
    assert {"antiphon", "torch", "tomlkit", "cyclopts", "snowballstemmer"} <= set(found["versions"])
    assert not {"pytest", "mypy"} & set(found["versions"])
    assert found["memory_gigabytes"] > 0.1


def test_it_works_without_torch(antiphon, monkeypatch):
    def found(name):
        if name == "torch":
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(doctor, "version", found)
    ended = antiphon("doctor")
    assert "! torch is missing: pip install torch\nMend these first.\n" in ended.out
    assert "threads" not in ended.out


def test_what_is_missing_is_named(antiphon, monkeypatch):
    monkeypatch.setattr(doctor, "needed", lambda: ["torch", "no-such-package"])
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 5e8}))
    ended = antiphon("doctor")
    assert "! no-such-package is missing: pip install no-such-package\n" in ended.out
    assert "! only 0.50 GB of disk are free here: a run needs room for its checkpoints\n" in ended.out
    assert ended.out.endswith("Mend these first.\n")
