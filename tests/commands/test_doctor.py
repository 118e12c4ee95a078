"""`antiphon doctor`: what this machine has, and what is missing."""

import json

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
    assert "antiphon" in found["versions"]


def test_what_is_missing_is_named(antiphon, monkeypatch):
    monkeypatch.setattr(doctor, "_CORE", ("torch", "no-such-package"))
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 5e8}))
    ended = antiphon("doctor")
    assert "! no-such-package is missing: pip install no-such-package\n" in ended.out
    assert "! only 0.50 GB of disk are free here: a run needs room for its checkpoints\n" in ended.out
    assert ended.out.endswith("Mend these first.\n")
