"""A model at the widths that it is trained at, one layer of it, is proved between cut points."""

import json

import pytest

pytest.importorskip("torch")

from tests.process import verdict

FILE = "examples/torch/llama_8b.py"


def test_one_layer_of_8b_is_proved_between_cut_points():
    """It is too large to be swept as a whole: rotations, norms and a loss on shards of the vocabulary, then AdamW."""
    words = ("--single", FILE, "--world", "8", "--no-confirm", "--no-repair", "--format", "json")
    done = verdict("torch", f"{FILE}:build", *words, LAYERS="1")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["verdict"], said["sweep"]["islands"]) == ("PROVED", 15)
