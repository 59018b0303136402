"""No test touches the user's own cache or key."""

import pytest


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    monkeypatch.delenv("VERDICT_CACHE", raising=False)
    monkeypatch.delenv("VERDICT_CACHE_KEY", raising=False)
