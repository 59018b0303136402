"""Windows, convolutions and reductions of several arrays in golden texts: a fault each, and what is refused by name.

That the texts themselves are proved is in test_pair.py; what jax computes is in test_against_jax.py.
"""

import pytest

from tests.backends.hlo.test_pair import changed, report_of, text_of
from verdict.report import Verdict

pytestmark = pytest.mark.usefixtures("shared_proofs")

GRADIENT = "convolution(%param, %add_any.2), window={size=4 pad=1_1}"
SUMMED = "replica_groups=mesh['axis_0'=4,'axis_1'=1,'axis_2'=1] {'axis_0'}, use_global_device_ids=true"
FAULTS = {
    "a gradient of a kernel that is not summed": (
        "conv",
        f"all-reduce(%convolution.1), channel_id=2, {SUMMED}, to_apply=%add.clone",
        "copy(%convolution.1)",
    ),
    "padding on one side": ("conv", GRADIENT, GRADIENT.replace("1_1", "0_2")),
    "a kernel turned": ("halo", "window={size=3}", "window={size=3 rhs_reversal=1}"),
    "inputs and outputs of a kernel": ("halo", "dim_labels=b0f_0io->b0f", "dim_labels=b0f_0oi->b0f"),
    "a window that begins elsewhere": ("cumsum", "padding=0_0x7_0", "padding=0_0x6_1"),
    "the least for the greatest": ("argmax", "direction=GT", "direction=LT"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_refuted(name):
    golden, old, new = FAULTS[name]
    after = changed(text_of(golden, "after"), old, new)
    assert report_of(text_of(golden, "before"), after).verdict is Verdict.REFUTED


UNKNOWN = {
    "an initial value that counts": ("cumsum", "f32[] constant(0)", "f32[] constant(1)", "change nothing"),
    "an unknown part of a window": ("halo", "window={size=3}", "window={size=3 colour=1}", "colour, which is"),
    "two kinds of groups": (
        "halo",
        "dim_labels=b0f_0io->b0f",
        "dim_labels=b0f_0io->b0f, feature_group_count=2, batch_group_count=2",
        "groups of features and of batches at once",
    ),
    "an opcode in a computation": ("argmax", "s32[] select(%or.1", "s32[] tan(%or.1", "has tan select_n.1"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_named(name):
    golden, old, new, words = UNKNOWN[name]
    text = text_of(golden, "after")
    assert old in text
    report = report_of(text_of(golden, "before"), text.replace(old, new))
    assert report.verdict is Verdict.UNKNOWN
    assert any(words in f"{each.where} {each.reason}" for each in report.open)


@pytest.mark.parametrize(("exponent", "mantissa", "verdict"), [(8, 23, Verdict.PROVED), (8, 7, Verdict.UNKNOWN)])
def test_only_what_keeps_all_bits_hands_on_what_it_reads(exponent, mantissa, verdict):
    whole = f"reduce-precision(%shard_map.4), exponent_bits={exponent}, mantissa_bits={mantissa}"
    after = changed(text_of("ring", "after"), "copy(%shard_map.4)", whole)
    report = report_of(text_of("ring", "before"), after)
    assert report.verdict is verdict
    assert verdict is Verdict.PROVED or any("fewer bits" in f"{each.where} {each.reason}" for each in report.open)
