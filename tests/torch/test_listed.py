"""Operators on lists of tensors, taken apart, compute what torch computes, whatever stands beside the lists."""

import copy

import pytest

torch = pytest.importorskip("torch")

from verdict.backends.torch.foreach import elements  # noqa: E402

UNKNOWN = ("_foreach_powsum", "_foreach_mm")
"""What is refused when it is recorded, and what no lists of vectors are given to."""
NAMES = sorted(name for name in dir(torch) if name.startswith("_foreach_") and name not in UNKNOWN)
LISTS = "List[Tensor]"
PACKED = [f"_foreach_{name}.Tensor" for name in ("addcdiv", "addcdiv_", "addcmul", "addcmul_")]
"""Their numbers stand in a tensor."""
VALUES = {"number": 0.7, "List[number]": [0.7, 1.3], "Tensor": torch.tensor(0.7)}


def tensors(seed):
    """A list of two, of numbers between 0.2 and 1.2."""
    torch.manual_seed(seed)
    return [torch.rand(2, 3) + 0.2, torch.rand(4) + 0.2]


def given(func):
    """A value for each argument without a default: positional ones, others by name."""
    args, kwargs = [], {}
    for seed, argument in enumerate(func._schema.arguments):
        kind = str(argument.type)
        if argument.has_default_value():
            continue
        value = tensors(seed) if kind == LISTS else VALUES[kind]
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return args, kwargs


def overloads():
    """All overloads that return tensors or write into their first list."""
    packets = (getattr(torch.ops.aten, name) for name in NAMES)
    return [getattr(packet, name) for packet in packets for name in packet.overloads() if not name.endswith("out")]


@pytest.mark.parametrize("func", [each for each in overloads() if str(each)[len("aten.") :] not in PACKED], ids=str)
def test_each_is_its_single_operators(func):
    args, kwargs = given(func)
    whole = copy.deepcopy((args, kwargs))
    found = func(*whole[0], **whole[1])
    wanted = whole[0][0] if found is None or func._schema.name.endswith("_") else found
    made = [each(*own, **named) for each, own, named in elements(func, args, kwargs)]
    assert len(made) == len(wanted) == 2
    for one, other in zip(made, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", PACKED)
def test_numbers_in_a_tensor_are_not_known(name):
    func = next(each for each in overloads() if str(each) == f"aten.{name}")
    first = tensors(1)
    assert elements(func, [first, tensors(2), tensors(3), torch.tensor([0.7, 1.3])], {}) == []
