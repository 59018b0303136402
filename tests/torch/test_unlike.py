"""Parts of unlike sizes: packed sequences, nodes of a graph, labels that end."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402
from verdict.backends.torch import grouped  # noqa: E402

FILE = Path(__file__).with_name("unlike.py")
RIGHT = ("packed", "graph", "labelled", "causal", "blocks")
WRONG = (
    "packed_own_count", "packed_other_lengths", "graph_kept", "graph_detached", "graph_other_edges", "labelled_end",
    "causal_without", "blocks_joined",
)  # fmt: skip


def found(name):
    pairs = tuple((f"build_{each}", f"build_{each.split('_')[0]}_single") for each in (*RIGHT, *WRONG))
    explained = ("build_graph_detached", "build_causal_without")
    return answers(FILE, pairs, tensors="auto", causes=explained)[f"build_{name}"]


@pytest.mark.parametrize("name", RIGHT)
def test_ranks_with_parts_of_unlike_sizes_are_proved(name):
    assert found(name).verdict == "PROVED", found(name).why


@pytest.mark.parametrize("name", WRONG)
def test_a_fault_among_parts_of_unlike_sizes_is_refuted(name):
    assert found(name).verdict == "REFUTED", found(name).why


def test_what_is_a_multiple_on_each_rank_is_not_where_gradients_go_astray():
    """Each rank's mean makes its gradients twice the single-device ones, from the loss on; what is dropped is later."""
    (finding,) = found("graph_detached").report.findings
    assert "tanh_backward" in finding.title and "nowhere" in finding.title


def test_a_loss_of_wrong_values_is_not_told_to_be_of_too_few():
    """To read the whole loss for its shape, where ones are made like it, would mend the loss that is declared."""
    first = found("causal_without").report.findings[0]
    assert "convolution" in first.title and "smooth_l1_loss" not in first.title


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("lengths", [[3, 2, 2, 1], [1, 1, 1, 1], [3, 3, 3, 3]])
def test_sequences_are_packed_as_torch_packs_them(lengths, batch_first):
    x = torch.randn((4, 3, 2) if batch_first else (3, 4, 2))
    given = {"input": x, "lengths": torch.tensor(lengths), "batch_first": batch_first}
    assert grouped.is_known("_pack_padded_sequence", given)
    made, sizes = grouped.take("_pack_padded_sequence", given, lengths)
    due, counts = torch.ops.aten._pack_padded_sequence(x, given["lengths"], batch_first)
    assert torch.equal(made, due) and torch.equal(sizes, counts)


@pytest.mark.parametrize("lengths", [[1, 2], [2, 0], [2]])
def test_lengths_that_torch_refuses_are_refused(lengths):
    given = {"input": torch.randn(2, 3, 1), "lengths": torch.tensor(lengths), "batch_first": True}
    for pack in (lambda: grouped.take("_pack_padded_sequence", given, lengths),
                 lambda: torch.ops.aten._pack_padded_sequence(*given.values())):  # fmt: skip
        with pytest.raises(RuntimeError):
            pack()
