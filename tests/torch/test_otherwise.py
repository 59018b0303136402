"""Draws of one law that are made otherwise are not refuted: masks that are comparisons, noise with the other sign."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.otherwise import ALIKE, LAWS, UNLIKE
from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("otherwise.py")


def found(builder):
    pairs = [(law.__name__, law.__name__) for law in LAWS]
    pairs += [(law.__name__, due.__name__) for law, due in (ALIKE | UNLIKE).items()]
    put = [(f"build_{name}{end}", f"build_{due}") for name, due in pairs for end in ("", "_alone")]
    return answers(FILE, tuple(put))[builder]


@pytest.mark.parametrize("law", [law.__name__ for law in LAWS])
def test_the_same_draws_are_proved_and_without_a_reduction_refuted(law):
    assert found(f"build_{law}").verdict == "PROVED", found(f"build_{law}").why
    assert found(f"build_{law}_alone").verdict == "REFUTED", found(f"build_{law}_alone").why


@pytest.mark.parametrize("law", [law.__name__ for law in ALIKE])
def test_what_is_alike_in_law_is_not_refuted(law):
    answer = found(f"build_{law}")
    assert answer.verdict == "UNKNOWN", answer.why
    assert "whether what they make of them is alike is not told" in answer.why


@pytest.mark.parametrize("law", ["contrary_mask", "less_noise"])
def test_a_fault_beside_draws_of_the_other_sign_is_refuted(law):
    assert found(f"build_{law}_alone").verdict == "REFUTED", found(f"build_{law}_alone").why


@pytest.mark.parametrize("law", [law.__name__ for law in UNLIKE])
def test_draws_of_another_law_are_refuted(law):
    assert found(f"build_{law}").verdict == "REFUTED", found(f"build_{law}").why
