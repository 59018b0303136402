"""Operators that are recorded as others: held against torch's own, and proved over the rows of a batch."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.sampled import sampled  # noqa: E402
from tests.torch.decomposed import OPERATORS  # noqa: E402
from tests.torch.verdicts import answers  # noqa: E402
from verdict.backends.torch.arguments import Call, operator  # noqa: E402
from verdict.backends.torch.collectives import Unknown  # noqa: E402
from verdict.backends.torch.decomposed import taken_apart  # noqa: E402

FILE = Path(__file__).with_name("decomposed.py")
NAMES = (*OPERATORS, "weight_norm", "deconvolution", "bags", "tangent", "shampoo")


WRONG = sampled(NAMES, 6)
"""One fault in programs that are alike."""


def answered(name):
    built = [*((each, "") for each in NAMES), *((each, "_wrong") for each in WRONG)]
    return answers(FILE, tuple((f"build_{each}{way}", f"build_{each}") for each, way in built))[name]


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_a_batch_are_proved(name):
    found = answered(f"build_{name}")
    assert found.verdict == "PROVED", found.why


@pytest.mark.parametrize("name", WRONG)
def test_gradients_that_are_not_reduced_are_refuted(name):
    found = answered(f"build_{name}_wrong")
    assert found.verdict == "REFUTED", found.why


def drawn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


X, Y = drawn(3, 4), drawn(3, 4, seed=1)
IMAGE, PLANE = drawn(2, 3, 4, 5), drawn(2, 3, 8, 7, seed=1)
PLACES = torch.tensor([[0, 1, 1, 0], [2, 2, 2, 2], [0, 1, 2, 0]])
GREATEST = torch.ops.aten.adaptive_max_pool2d(IMAGE, (2, 2))[1]
CASES = [
    *((f"aten.{name}", (X,)) for name in ("sinh", "cosh", "asinh", "tan", "erfc", "isnan", "isinf")),
    ("aten.acosh", (X.abs() + 1,)),
    ("aten.atanh", (X.tanh(),)),
    ("aten.addbmm", (X, drawn(2, 3, 5), drawn(2, 5, 4))),
    *((f"aten.{name}.dims", (X > 0, dim)) for name in ("any", "all") for dim in (None, [0], [1, 0], [])),
    *((f"aten.{name}.dims", (torch.tensor(each), None)) for name in ("any", "all") for each in (2, 0, True)),
    *(("aten.clamp.Tensor", (X, *ends)) for ends in ((-Y.abs(), Y.abs()), (None, Y[0]), (Y,))),
    ("aten.isnan", (torch.tensor([1.0, float("nan"), float("inf")]),)),
    ("aten.isinf", (torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]),)),
    ("aten.isnan", (torch.tensor([True, False]),)),
    ("aten.isinf", (torch.tensor([1, 2]),)),
    ("aten.median.dim", (torch.tensor(2.0), 0)),
    ("aten.hypot", (X, Y)),
    ("aten.logaddexp2", (X, Y)),
    ("aten.logit", (X.sigmoid(), 0.3)),
    ("aten.hardshrink_backward", (Y, X, 0.5)),
    ("aten.softshrink_backward", (Y, X, 0.5)),
    ("aten.std_mean.correction", (X, (1,))),
    ("aten.linalg_cross", (X[:, :3], Y[:1, :3])),
    ("aten.kthvalue", (X, 2, 0, True)),
    ("aten.median.dim", (X, 1)),
    ("aten.median", (X,)),
    ("aten.bucketize.Tensor", (X, torch.tensor([-0.5, 0.5]))),
    ("aten.searchsorted.Tensor", (X.sort(1)[0], torch.cat([Y, X], 1))),
    ("aten.scatter_reduce.two", (Y, 0, PLACES, X, "sum")),
    ("aten.scatter_reduce.two", (Y, 0, PLACES, X, "mean")),
    ("aten._trilinear", (X, Y, drawn(5, 4, 4), (1, 3), (1, 2), (0,), (2, 3))),
    ("aten._weight_norm_interface_backward", (X, Y, drawn(1, 4), drawn(1, 4).abs() + 1, 1)),
    *(
        ("aten.replication_pad1d_backward", (drawn(2, 3, 4 + a + b), drawn(2, 3, 4), (a, b)))
        for a, b in ((2, 1), (0, 3))
    ),
    ("aten.replication_pad2d_backward", (drawn(2, 3, 7, 8), IMAGE, (1, 2, 3, 0))),
    *(("aten.upsample_bilinear2d_backward", (PLANE, (8, 7), IMAGE.shape, corners)) for corners in (True, False)),
    *(("aten.upsample_bicubic2d_backward", (PLANE, (8, 7), IMAGE.shape, corners)) for corners in (True, False)),
    ("aten.upsample_bilinear2d_backward", (PLANE, (8, 7), IMAGE.shape, False, 2.1, 1.5)),
    ("aten.upsample_nearest2d_backward", (PLANE, (8, 7), IMAGE.shape)),
    ("aten.upsample_nearest2d_backward", (PLANE, (8, 7), IMAGE.shape, 2.1, 1.5)),
    ("aten.upsample_nearest1d_backward", (drawn(2, 3, 9), (9,), (2, 3, 4))),
    ("aten.upsample_linear1d_backward", (drawn(2, 3, 9), (9,), (2, 3, 4), True)),
    (
        "aten.adaptive_max_pool2d_backward",
        (drawn(2, 3, 2, 2), IMAGE, torch.ops.aten.adaptive_max_pool2d(IMAGE, (2, 2))[1]),
    ),
]

BLOCKS = drawn(2, 3, 4, 5, 6)
IDS, STARTS = torch.tensor([3, 0, 2, 2, 1, 0]), torch.tensor([0, 2, 2, 5])
POINTS, OTHERS = drawn(2, 3, 4), drawn(2, 5, 4, seed=1)
for how in ((POINTS, OTHERS, 2.0), (POINTS, OTHERS, 1.0), (POINTS, OTHERS, 3.0), (POINTS, OTHERS, float("inf"))):
    gaps = torch.ops.aten._cdist_forward(*how, None)
    CASES += [
        ("aten._cdist_forward", (*how, None)),
        ("aten._cdist_backward", (drawn(*gaps.shape, seed=2), *how, gaps)),
    ]
for dims in (((2, 3, 2), (2, 2, 1), (1, 1, 0)), ((2,), (), (0,))):
    for extra in ((False, True, None), (False, False, None), (False, True, 5)):
        pooled = torch.ops.aten.avg_pool3d(BLOCKS, *dims, *extra)
        CASES += [
            ("aten.avg_pool3d", (BLOCKS, *dims, *extra)),
            ("aten.avg_pool3d_backward", (drawn(*pooled.shape), BLOCKS, *dims, *extra)),
        ]
CASES += [
    ("aten.acos", (X.tanh(),)),
    ("aten.asin", (torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0]),)),
    ("aten.fmax", (torch.tensor([1.0, float("nan"), 2.0]), torch.tensor([float("nan"), 3.0, -1.0]))),
    ("aten.fmin", (X, Y)),
    ("aten.cummax", (torch.tensor([[1.0, 3.0, 3.0, 2.0]]), 1)),
    ("aten.cummin", (X, 0)),
    ("aten.cummax", (X.log(), 1)),
    ("aten.cummin", (X.log().t(), 1)),
    ("aten._euclidean_dist", (POINTS, OTHERS)),
    ("aten.scatter_reduce.two", (Y, 0, PLACES, X, "amax")),
    ("aten.scatter_reduce.two", (Y, -1, PLACES, X[:, :4], "prod")),
]

SOUND, FILTERS, SHADES = drawn(2, 4, 5), drawn(4, 3, 3, seed=2), drawn(4, 2, 3, 2, seed=3)
LINES = (SOUND, FILTERS, drawn(3), (2,), (1,), (2,), True, (1,), 1)
AREAS = (drawn(2, 4, 3, 4), SHADES, None, (2, 1), (1, 0), (1, 2), True, (0, 0), 2)
LONGER = (drawn(2, 2, 2, 2, seed=4), drawn(2, 4, 4, 5, seed=5), (3, 2), (1, 2), (2, 3), True, (2, 2), 2)
CASES += [
    ("aten.convolution", (*LONGER[:2], None, *LONGER[2:])),
    ("aten.convolution_backward", (drawn(2, 8, 10, 13), *LONGER[:2], [8], *LONGER[2:], [True, True, True])),
    ("aten.convolution", LINES),
    ("aten.convolution", AREAS),
    ("aten.convolution", (drawn(2, 4, 3, 4), SHADES, drawn(2), (3,), (0,), (1,), True, (2,), 1)),
    ("aten.convolution_backward", (drawn(2, 3, 12), *LINES[:2], [3], *LINES[3:], [True, True, True])),
    ("aten.convolution_backward", (drawn(2, 4, 5, 6), *AREAS[:2], None, *AREAS[3:], [True, True, False])),
]
SCALES, ZEROS = torch.tensor([0.5, 0.25, 1.0, 0.125], dtype=torch.float64), torch.tensor([1, 0, -3, 2])
HALVES = torch.arange(-12.0, 12.0).reshape(6, 4) / 4
"""Many lie in the middle between two integers of a scale."""
QUANTIZED = "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams"
CASES += [
    ("aten.fake_quantize_per_tensor_affine_cachemask", (HALVES, 0.5, 1, -3, 3)),
    ("aten.fake_quantize_per_channel_affine_cachemask", (HALVES, SCALES.float(), ZEROS.int(), 1, -3, 3)),
    *((QUANTIZED, (HALVES, SCALES[:1].float(), ZEROS[:1].int(), torch.tensor([on]), -3, 3)) for on in (0, 1)),
]
TRUTHS = drawn(2, 3, 4) > 1
CASES += [
    ("aten._efficientzerotensor", ([2, 3],)),
    ("aten.eye", (3,)),
    ("aten.eye", (300,)),
    ("aten.eye.m", (2, 300)),
    *((f"aten.{side}_indices", (3, 4, offset)) for side in ("tril", "triu") for offset in (-1, 0, 2, 9)),
    *(("aten.any.dims", (TRUTHS, *how)) for how in (((0, -1), True), ((1,),), (None,), ((), True))),
    ("aten.any.dims", (TRUTHS.to(torch.uint8), (0, 2))),
    ("aten._upsample_nearest_exact1d_backward", (drawn(2, 3, 9), (9,), (2, 3, 4))),
    ("aten._upsample_nearest_exact2d_backward", (PLANE, (8, 7), IMAGE.shape, 2.1, 1.5)),
]
GRID, SPACE = drawn(2, 3, 4, 2, seed=6), drawn(2, 2, 2, 3, 3, seed=7)
SAMPLES, INSIDE = drawn(2, 3, 3, 4, seed=8), drawn(2, 2, 2, 3, 3, seed=9)
MASK = drawn(3, 4, seed=7) > 0
ROWS, BITS = torch.tensor([2, 0, 2]), torch.tensor([[-7, 5, 100], [0, -1, 90]])
SMALL = torch.tensor([-128, 127, 5, -3], dtype=torch.int8)
CASES += [
    *(
        ("aten.grid_sampler_2d_backward", (SAMPLES, IMAGE, GRID, how, padding, aligned, (asked, True)))
        for how in (0, 1, 2)
        for padding in (0, 1, 2)
        for aligned, asked in ((True, True), (False, False))
    ),
    ("aten.grid_sampler_2d_backward", (drawn(2, 3, 3, 4), IMAGE[:, :, :1], GRID, 0, 2, True, (True, True))),
    ("aten.grid_sampler_3d", (SPACE, INSIDE.movedim(1, -1)[..., [0, 1, 0]], 0, 2, False)),
    ("aten.grid_sampler_3d", (SPACE, INSIDE.movedim(1, -1)[..., [0, 1, 0]], 1, 0, True)),
    ("aten.grid_sampler_3d_backward", (INSIDE, SPACE, drawn(2, 2, 3, 3, 3, seed=1), 0, 1, True, (True, True))),
    ("aten.take", (X, torch.tensor([[0, -1], [5, 5]]))),
    ("aten.put", (X, torch.tensor([0, -1, 5]), drawn(3, seed=2))),
    ("aten.put", (X, torch.tensor([[0, -1, 0]]), drawn(1, 3, seed=2), True)),
    ("aten.masked_scatter", (X, MASK, drawn(20, seed=3))),
    ("aten.masked_scatter", (X, MASK[:1], drawn(3, 4, seed=3))),
    ("aten.masked_scatter_backward", (X, MASK, (2, 6))),
    *(("aten.index_reduce", (X, 0, ROWS, Y, how)) for how in ("amax", "amin", "prod", "mean")),
    ("aten.index_reduce", (BITS, 1, torch.tensor([1, 1]), BITS[:, :2], "mean")),
    *(("aten.scatter_reduce.two", (X, 1, PLACES[:2, :3], Y, how)) for how in ("amax", "amin", "prod")),
    ("aten.embedding_renorm", (X, torch.tensor([0, 2, 2]), 1.0, 2.0)),
    ("aten.embedding_renorm", (X, torch.tensor([1]), 0.5, 1.0)),
    ("aten.nanmedian", (X.log(),)),
    ("aten.median", (X.log(),)),
    ("aten.median.dim", (X.log().t(), 1, True)),
    ("aten.bucketize.Tensor", (X.log(), torch.tensor([-0.5, 0.5]))),
    ("aten.nanmedian.dim", (X.log(), 1, True)),
    ("aten.nanmedian.dim", (torch.full((2, 3), torch.nan, dtype=torch.float64), 0)),
    *(
        (f"aten.{name}", (BITS, bits))
        for name in ("bitwise_left_shift.Tensor_Scalar", "bitwise_right_shift.Tensor_Scalar", "__rshift__.Scalar")
        for bits in (0, 3, 63, 64, -1)
    ),
    *(
        (f"aten.{name}", (x, torch.tensor([0, 1, 9, -1]).to(x.dtype)[: x.shape[-1]]))
        for name in ("__lshift__.Tensor", "bitwise_right_shift.Tensor")
        for x in (BITS, SMALL, SMALL.to(torch.uint8))
    ),
    ("aten.bitwise_left_shift.Scalar_Tensor", (3, torch.tensor([0, 2, 5]))),
    *(
        ("aten.multi_margin_loss_backward", (grad, X, torch.tensor([0, 3, 1]), p, 0.5, weight, reduction))
        for grad, p, weight, reduction in (
            (drawn(3), 1, None, 0),
            (drawn(1)[0], 2, drawn(4, seed=5), 1),
            (drawn(1)[0], 1, drawn(4, seed=5), 2),
        )
    ),
    ("aten.multi_margin_loss_backward", (drawn(1)[0], X[0], torch.tensor(2), 1, 1.0)),
    ("aten.view_copy", (X, (2, 6))),
    ("aten.slice_copy.Tensor", (X, 1, 1, 4, 2)),
    ("aten.split_copy.Tensor", (X, 2)),
    ("aten.as_strided_copy", (X, (2, 2), (1, 4), 3)),
]
CASES += [
    ("aten.adaptive_max_pool2d", (IMAGE, (3, 2))),
    ("aten.adaptive_max_pool2d", (IMAGE, (2, 5))),
    ("aten.adaptive_max_pool3d", (drawn(2, 3, 4, 5), (2, 3, 2))),
    ("aten.adaptive_max_pool3d_backward", (drawn(2, 2, 2, 2), drawn(2, 3, 4, 5), drawn(2, 2, 2, 2).long().abs())),
    ("aten._adaptive_avg_pool3d", (drawn(2, 3, 4, 5), (2, 3, 2))),
    ("aten._adaptive_avg_pool3d_backward", (drawn(1, 2, 2, 3, 2), drawn(1, 2, 3, 4, 5))),
]
ROUNDED = ((drawn(6) * 10, 1), (drawn(6) * 10, 0), (drawn(6) * 1000, -2))


@pytest.mark.parametrize(("x", "decimals"), ROUNDED)
def test_numbers_are_rounded_to_decimals(x, decimals):
    found = torch.ops.aten.round.decimals
    others = taken_apart(Call.of(found, (x,), {"decimals": decimals}))
    torch.testing.assert_close(others(x, decimals=decimals), found(x, decimals=decimals), rtol=0, atol=1e-9)


def parts(made):
    return made if isinstance(made, tuple | list) else (made,)


@pytest.mark.parametrize(("name", "args"), CASES, ids=[name for name, _ in CASES])
def test_what_an_operator_is_taken_apart_into_is_it(name, args):
    found = operator(name)
    others = taken_apart(Call.of(found, args, {}))
    assert others is not None
    for made, due in zip(parts(others(*args)), parts(found(*args)), strict=True):
        if due is None:
            assert made is None
            continue
        assert due.dtype in (made.dtype, torch.float64)
        torch.testing.assert_close(made, due, check_dtype=False, rtol=1e-9, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("beta", [0, 0.0, 2.0])
def test_nothing_of_a_tensor_is_not_read(beta):
    found, args = torch.ops.aten.addbmm.default, (X[:2, :2].log(), drawn(3, 2, 2), drawn(3, 2, 2, seed=1))
    made = taken_apart(Call.of(found, args, {"beta": beta}))(*args, beta=beta)
    torch.testing.assert_close(made, found(*args, beta=beta), equal_nan=True)


@pytest.mark.parametrize("include", [True, False])
def test_a_mean_of_integers_that_are_sent_is_rounded_down(include):
    found = torch.ops.aten.scatter_reduce.two
    x, sent = torch.tensor([[-7, 2, 5], [0, 1, 2], [8, -9, 4]]), torch.tensor([[3, -4, 6], [-2, 7, 1]])
    places = torch.tensor([[0, 0, 2], [0, 1, 2]])
    others = taken_apart(Call.of(found, (x, 0, places, sent, "mean"), {"include_self": include}))
    made = others(x, 0, places, sent, "mean", include_self=include)
    torch.testing.assert_close(made, found(x, 0, places, sent, "mean", include_self=include))


@pytest.fixture
def in_doubles():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("in_doubles")
@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.int64])
@pytest.mark.parametrize(
    "name", ["sinh", "cosh", "asinh", "acosh", "atanh", "tan", "erfc", "acos", "asin", "logit", "isnan", "isinf"]
)
def test_functions_of_integers_are_those_of_floats(name, dtype):
    """Minus 3 is 253 in bytes, and nothing is minus a truth value."""
    x = torch.tensor([0, 1, 3] if name in ("sinh", "cosh", "asinh", "tan", "erfc") else [0, 1, 1], dtype=dtype)
    found = operator(f"aten.{name}")
    torch.testing.assert_close(taken_apart(Call.of(found, (x,), {}))(x), found(x), equal_nan=True)


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("how", ["sum", "mean"])
def test_a_scatter_with_and_without_what_was_there(how, include):
    found = torch.ops.aten.scatter_reduce.two
    others = taken_apart(Call.of(found, (Y, 0, PLACES, X, how), {"include_self": include}))
    assert others is not None
    made = others(Y, 0, PLACES, X, how, include_self=include)
    torch.testing.assert_close(made, found(Y, 0, PLACES, X, how, include_self=include))


def test_what_has_a_rule_is_not_taken_apart():
    assert taken_apart(Call.of(torch.ops.aten.tanh.default, (X,), {})) is None
    assert taken_apart(Call.of(torch.ops.aten._fft_r2c.default, (X, (1,), 0, True), {})) is None


def test_what_is_not_known_says_so():
    args = torch.tensor(1.0), 0, torch.tensor(0), torch.tensor(2.0), "amax"
    others = taken_apart(Call.of(torch.ops.aten.scatter_reduce.two, args, {}))
    assert others is not None
    with pytest.raises(Unknown, match="amax"):
        others(*args)


def test_an_order_of_nothing_says_so():
    found = torch.ops.aten.kthvalue.default
    others = taken_apart(Call.of(found, (torch.tensor(2.0), 1), {}))
    assert others is not None
    for x in (torch.tensor(2.0), torch.zeros(0, 3)):
        with pytest.raises(Unknown, match="without dimensions or elements"):
            others(x, 1, 0)


def test_several_outputs_that_are_written_are_not_taken_apart():
    outs = {"values": torch.empty(3), "indices": torch.empty(3, dtype=torch.int64)}
    assert taken_apart(Call.of(torch.ops.aten.kthvalue.values, (X, 2), outs)) is None


def test_a_number_in_the_place_of_a_tensor_is_not_taken_apart():
    assert taken_apart(Call.of(torch.ops.aten.bucketize.Scalar, (0.1, torch.tensor([0.0, 1.0])), {})) is None
