"""The version that own metrics sign with, whether or not the package is installed where the tests run."""

import pytest

from antiphon.evaluate import metrics


@pytest.fixture(autouse=True)
def signed_version(monkeypatch):
    versions = {"antiphon": "7.8.9"}
    monkeypatch.setattr(metrics, "version", versions.__getitem__)
