"""Nodes of every ATen rule: shapes, attributes, and what fills the inputs; edges first (ties, size one, uneven)."""

from typing import NamedTuple

import numpy as np

from tests.ops import matrix_cases
from tests.ops.harness import nonzero, positive, real

R, P, N = real, positive, nonzero


class Node(NamedTuple):
    """One call. fills: one for each input, or one for all."""

    op: str
    shapes: tuple
    attrs: dict
    fills: tuple

    def inputs(self, seed):
        """The input arrays; truth values are bool arrays, positions int arrays."""
        rng = np.random.default_rng(seed)
        return [fill(rng, shape) for fill, shape in zip(self.fills, self.shapes, strict=True)]


def ids(stop):
    """Integers below `stop`, often repeated."""
    return lambda rng, shape: rng.integers(0, stop, shape)


def near(stop):
    """Integers from -stop on, below `stop`."""
    return lambda rng, shape: rng.integers(-stop, stop, shape)


def order(stop):
    """Different integers below `stop`, along the last axis."""
    return lambda rng, shape: np.stack(
        [rng.permutation(stop)[: shape[-1]] for _ in range(int(np.prod(shape[:-1])))]
    ).reshape(shape)


def truth(rng, shape):
    """Truth values."""
    return rng.random(shape) < 0.5


def whole(rng, shape):
    """Integers between -3 and 3."""
    return rng.integers(-3, 4, shape)


def bent(rng, shape):
    """Multiples of 3/2 between -9/2 and 9/2: where piecewise activations bend, beside and between these places."""
    return rng.permutation(np.arange(np.prod(shape)) % 7 - 3).reshape(shape) * 1.5


def _halves(rng, shape):
    """Powers of two in 32 bits: for operators whose constants have no more."""
    return (2.0 ** rng.integers(-2, 3, shape)).astype(np.float32)


def inside(rng, shape):
    """Multiples of 1/8 between 1/8 and 7/8."""
    return rng.integers(1, 8, shape) / 8


def node(op, *shapes, fill=R, **attrs):
    fills = fill if isinstance(fill, tuple) else (fill,) * len(shapes)
    return Node(f"aten.{op}", shapes, attrs, fills)


def _each():
    x, y = (2, 3), (3,)
    for op in ("floor", "ceil", "trunc", "round"):
        yield node(op, (2, 7), fill=bent)
        yield node(op, x)
    for op in ("log2", "log10"):
        yield node(op, x, fill=P)
    yield node("exp2", x)
    yield node("logaddexp", x, y)
    for op in ("neg", "exp", "sin", "cos", "square", "abs", "sign", "sigmoid", "tanh", "erf", "silu", "relu", "gelu"):
        yield node(op, x)
        yield node(op, ())
    yield node("gelu", x, approximate="tanh")
    for op in ("log", "log1p", "sqrt", "rsqrt"):
        yield node(op, x, fill=P)
    yield node("expm1", x)
    yield node("reciprocal", x, fill=N)
    for op in ("add", "sub", "rsub"):
        yield node(f"{op}.Tensor", x, y, alpha=0.5)
        yield node(f"{op}.Tensor", (), (2, 1))
        yield node(f"{op}.Scalar", x, other=1e-5, alpha=2)
    yield node("add.Tensor", x, other=1.5)
    yield node("mul.Tensor", x, (2, 1))
    yield node("mul.Tensor", x, other=3)
    yield node("mul.Scalar", x, other=0.3)
    yield node("div.Tensor", x, x, fill=(R, N))
    yield node("div.Tensor", (2,), (2,), fill=(whole, lambda rng, shape: rng.integers(1, 5, shape)))
    yield node("div.Scalar", x, other=4)
    for mode in (None, "floor", "trunc"):
        yield node("div.Tensor_mode", x, x, fill=(whole, lambda r, s: r.integers(1, 4, s)), rounding_mode=mode)
        yield node("div.Scalar_mode", x, fill=whole, other=2, rounding_mode=mode)
    yield node("floor_divide", x, fill=whole, other=2)
    yield node("remainder.Scalar", x, fill=whole, other=3)
    yield node("remainder.Tensor", x, x, fill=(whole, lambda r, s: r.integers(1, 4, s)))
    yield node("pow.Tensor_Scalar", x, exponent=2)
    yield node("pow.Tensor_Scalar", x, fill=P, exponent=-0.5)
    yield node("pow.Scalar", x, self=10000.0)
    yield node("pow.Tensor_Tensor", x, x, fill=(P, P))
    yield node("maximum", x, y)
    yield node("minimum", x, y)
    yield node("clamp", x, min=-1, max=1.5)
    yield node("clamp", x, max=0)
    yield node("clamp_min", x, min=0)
    yield node("clamp_max", x, max=1.0)
    yield node("addcmul", x, x, y, value=0.5)
    yield node("addcdiv", x, x, x, fill=(R, R, N), value=-2)
    yield node("lerp.Scalar", x, x, weight=0.1)
    yield node("lerp.Tensor", x, x, y)
    for op in ("silu", "sigmoid", "tanh", "gelu"):
        yield node(f"{op}_backward", x, x)
    yield node("gelu_backward", x, x, approximate="tanh")
    yield node("threshold_backward", x, x, threshold=0)


def _angles_and_signs():
    x, y = (2, 3), (3,)
    yield node("fmod.Scalar", x, fill=bent, other=2)
    yield node("fmod.Tensor", x, x, fill=(whole, lambda r, s: r.integers(1, 4, s)))
    yield node("fmod.Tensor", x, y, fill=(bent, N))
    yield node("copysign.Tensor", x, y, fill=(bent, N))
    yield node("copysign.Scalar", x, other=-2)
    yield node("signbit", x, fill=bent)
    yield node("atan", x)
    yield node("atan2", x, y)
    for op in ("lgamma", "digamma"):
        yield node(op, x, fill=P)
        yield node(op, (2, 7), fill=lambda rng, shape: bent(rng, shape) + 0.25)
    for order in (0, 1, 2):
        yield node("polygamma", x, fill=P, n=order)
        yield node("polygamma", (2, 7), fill=lambda rng, shape: bent(rng, shape) + 0.25, n=order)
    yield node("erfinv", x, fill=lambda rng, shape: 2 * inside(rng, shape) - 1)


def _squared():
    for reduction in (0, 1, 2):
        yield node("mse_loss", (2, 3), (2, 3), reduction=reduction)
        dy = (2, 3) if reduction == 0 else ()
        yield node("mse_loss_backward", dy, (2, 3), (2, 3), reduction=reduction)

    for op, extra in (("smooth_l1_loss", {"beta": 0.5}), ("huber_loss", {"delta": 0.75})):
        yield node(op, (2, 3), (2, 3), **extra)
        yield node(f"{op}_backward", (), (2, 3), (2, 3), reduction=1, **extra)
        yield node(f"{op}_backward", (2, 3), (2, 3), (2, 3), reduction=0, **extra)
    yield node("binary_cross_entropy", (2, 3), (2, 3), (3,), fill=(inside, inside, P), reduction=2)
    yield node("binary_cross_entropy_backward", (), (2, 3), (2, 3), fill=(R, inside, R))
    yield node("binary_cross_entropy_with_logits", (2, 3), (2, 3), (3,), fill=(R, R, P), absent=("weight",))
    yield node("binary_cross_entropy_with_logits", (2, 3), (2, 3), (2, 3), fill=(R, R, P), reduction=0)


def _by_cases():
    x = (2, 3)
    yield node("hardtanh", x, min_val=-1.5, max_val=0.5)
    yield node("hardtanh_backward", x, x, min_val=-1, max_val=1)
    yield node("leaky_relu", x)
    yield node("leaky_relu_backward", x, x, negative_slope=0.1, self_is_result=False)
    yield node("elu", x, alpha=0.5, scale=2, input_scale=1.5)
    for is_result in (False, True):
        kind = {"alpha": 0.5, "scale": 2, "input_scale": 1.5, "is_result": is_result}
        yield node("elu_backward", x, x, fill=(R, P if is_result else R), **kind)
    yield node("softplus", x, beta=2)
    yield node("softplus_backward", x, x, beta=2, threshold=20)
    bends = (2, 7)
    for op in ("hardsigmoid", "hardswish"):
        yield node(op, bends, fill=bent)
    yield node("hardswish_backward", bends, bends, fill=(R, bent))
    yield node("hardsigmoid_backward", bends, bends, fill=(_halves, lambda *given: bent(*given).astype(np.float32)))
    yield node("celu", x, alpha=2)
    yield node("heaviside", bends, bends, fill=(bent, R))
    yield node("mish", x)
    yield node("mish_backward", x, x)
    yield node("log_sigmoid_forward", x)
    yield node("log_sigmoid_backward", x, x, x, fill=(R, N, inside))
    yield node("sgn", x)
    yield node("clamp_min.Tensor", x, (3,))
    yield node("clamp_max.Tensor", x, ())
    yield node("xlogy.Tensor", x, x, fill=(R, P))
    yield node("xlogy.Tensor", x, x, fill=(whole, P))
    yield node("std.correction", x, fill=lambda rng, shape: rng.permutation(6).reshape(shape) / 4, dim=(1,))
    yield node("diagonal_backward", (3,), input_sizes=(3, 4), offset=1, dim1=0, dim2=1)
    yield node(
        "index_put",
        (2, 4, 3),
        (5,),
        (2, 5, 3),
        fill=(R, near(4), R),
        indices_count=2,
        accumulate=True,
        absent=("indices.0",),
    )
    yield node(
        "index_put",
        (2, 4, 3),
        (2,),
        (2,),
        (2, 4),
        fill=(R, order(2), order(3), R),
        indices_count=3,
        absent=("indices.1",),
    )


def _matrices():
    yield node("mm", (2, 3), (3, 4))
    yield node("mm", (1, 1), (1, 2))
    yield node("bmm", (2, 3, 4), (2, 4, 5))
    yield node("mv", (2, 3), (3,))
    yield node("dot", (3,), (3,))
    yield node("addmm", (4,), (2, 3), (3, 4), beta=2, alpha=0.5)
    yield node("addmm", (2, 1), (2, 3), (3, 4))
    yield node("baddbmm", (1, 3, 5), (2, 3, 4), (2, 4, 5), alpha=0.25)


def _convolved():
    plain = {"transposed": False, "output_padding": (0, 0), "groups": 1}
    ways = (
        ((2, 2, 4, 4), (3, 2, 2, 2), {**plain, "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}),
        ((2, 3, 3, 4), (2, 3, 3, 3), {**plain, "stride": (1, 2), "padding": (1, 1), "dilation": (1, 1)}),
        ((1, 4, 5, 3), (2, 2, 2, 1), {**plain, "stride": (2, 1), "padding": (1, 0), "dilation": (2, 1), "groups": 2}),
        ((2, 3, 5), (3, 1, 2), {**plain, "stride": (1,), "padding": (1,), "dilation": (1,), "groups": 3}),
    )
    for x, w, way in ways:
        attrs = {**way, "output_padding": (0,) * (len(x) - 2)}
        yield node("convolution", x, w, w[:1], **attrs)
        yield node("convolution", x, w, **attrs)
        size = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(x[2:], w[2:], attrs["stride"], attrs["padding"], attrs["dilation"], strict=True)
        ]
        more = {"bias_sizes": w[:1], "output_mask": (True, True, True), **attrs}
        yield node("convolution_backward", (x[0], w[0], *size), x, w, **more)


def _pooled():
    ways = (
        ((2, 2, 4, 4), (2, 2), {"kernel_size": (2, 2)}),
        ((1, 2, 5, 4), (3, 2), {"kernel_size": (3, 3), "stride": (2, 2), "padding": (1, 1)}),
        ((2, 3, 4), (1, 3), {"kernel_size": (2, 2), "stride": (2, 1)}),
        ((1, 6, 5), (4, 3), {"kernel_size": (3, 2), "stride": (2, 2), "padding": (1, 0), "ceil_mode": True}),
        ((2, 3, 7), (2, 2), {"kernel_size": (2, 3), "stride": (3, 5), "padding": (1, 1), "ceil_mode": True}),
    )
    for x, made, attrs in ways:
        full = {"stride": attrs["kernel_size"], "padding": (0, 0), "ceil_mode": False, **attrs}
        gradient = (*x[:-2], *made)
        yield node("max_pool2d_with_indices", x, **attrs)
        fill = (R, R, ids(x[-1] * x[-2]))
        yield node("max_pool2d_with_indices_backward", gradient, x, gradient, fill=fill, **full, dilation=(1, 1))
        for counted, divisor in ((True, None), (False, None), (True, 5)):
            more = {"count_include_pad": counted, "divisor_override": divisor}
            yield node("avg_pool2d", x, **attrs, **more)
            yield node("avg_pool2d_backward", gradient, x, **full, **more)
    yield node("_adaptive_avg_pool2d", (2, 2, 5, 4), output_size=(3, 2))
    yield node("_adaptive_avg_pool2d_backward", (2, 2, 3, 2), (2, 2, 5, 4))


def _normalised():
    for dim in (0, -1):
        yield node("_softmax", (2, 3), dim=dim, half_to_float=False)
        yield node("_log_softmax", (2, 3), dim=dim, half_to_float=False)
        yield node("_safe_softmax", (2, 3), dim=dim)
        yield node("_softmax_backward_data", (2, 3), (2, 3), dim=dim, input_dtype="float64")
        yield node("_log_softmax_backward_data", (2, 3), (2, 3), dim=dim, input_dtype="float64")
    yield node("native_layer_norm", (2, 3, 4), (4,), (4,), normalized_shape=(4,), eps=1e-5)
    yield node("native_layer_norm", (2, 3, 4), (3, 4), normalized_shape=(3, 4), eps=1e-3)
    yield node("native_layer_norm", (2, 4), normalized_shape=(4,), eps=1e-3)
    sizes = {"N": 2, "C": 4, "HxW": 3, "group": 2}
    yield node("native_group_norm", (2, 4, 3), (4,), (4,), **sizes, eps=1e-5)
    yield node("native_group_norm", (1, 3), **{**sizes, "N": 1, "C": 3, "HxW": 1, "group": 1}, eps=1e-3)
    grouped = (2, 4, 3), (2, 4, 3), (2, 2), (2, 2), (4,)
    yield node("native_group_norm_backward", *grouped, fill=(R, R, R, P, R), **sizes, output_mask=(True, True, True))
    yield from _convolved()
    yield from _pooled()
    yield node("glu", (2, 6))
    yield node("glu", (4, 3), dim=0)
    yield node("glu_backward", (2, 3), (2, 6), dim=1)
    fill = (R, R, R, P, R, R)
    backward = {"normalized_shape": (4,), "output_mask": (True, True, True)}
    moments = ((2, 3, 1), (2, 3, 1))
    yield node("native_layer_norm_backward", (2, 3, 4), (2, 3, 4), *moments, (4,), (4,), fill=fill, **backward)
    yield node("_fused_rms_norm", (2, 3, 4), (4,), normalized_shape=(4,), eps=1e-5)
    shape = (1, 2, 3, 4)
    for causal, mask in ((False, ()), (True, ()), (False, ((1, 1, 3, 3),))):
        kind = {"is_causal": True} if causal else {}
        yield node("_scaled_dot_product_flash_attention_for_cpu", shape, shape, shape, *mask, **kind)
        yield node(
            "_scaled_dot_product_flash_attention_for_cpu_backward",
            *(shape,) * 5,
            (1, 2, 3),
            *mask,
            dropout_p=0.0,
            is_causal=causal,
            **({} if mask else {"scale": 0.3}),
        )
        few = (1, 2, 3, 4)
        many, rows = (1, 6, 3, 4), (1, 6, 3)
        yield node("_scaled_dot_product_flash_attention_for_cpu", many, few, few, *mask, **kind)
        shared = (many, many, few, few, many, rows)
        yield node(
            "_scaled_dot_product_flash_attention_for_cpu_backward", *shared, *mask, dropout_p=0.0, is_causal=causal
        )


def _lookups():
    yield node("embedding", (5, 2), (2, 3), fill=(R, ids(5)))
    yield node("embedding", (5, 2), (), fill=(R, ids(5)), padding_idx=1)
    yield node(
        "embedding_dense_backward",
        (2, 3, 4),
        (2, 3),
        fill=(R, ids(5)),
        num_weights=5,
        padding_idx=-1,
        scale_grad_by_freq=False,
    )
    yield node(
        "embedding_dense_backward",
        (7, 4),
        (7,),
        fill=(R, ids(5)),
        num_weights=5,
        padding_idx=2,
        scale_grad_by_freq=False,
    )
    for reduction in (0, 1, 2):
        for ignore in (-100, 1):
            kind = {"reduction": reduction, "ignore_index": ignore}
            yield node("nll_loss_forward", (6, 3), (6,), (3,), fill=(R, ids(3), P), **kind)
            yield node("nll_loss_forward", (6, 3), (6,), fill=(R, ids(3)), **kind)
            dy = (6,) if reduction == 0 else ()
            fills = (R, R, ids(3), P)
            yield node("nll_loss_backward", dy, (6, 3), (6,), (), fill=fills, absent=("weight",), **kind)
            fills = (R, R, ids(3), P, P)
            yield node("nll_loss_backward", dy, (6, 3), (6,), (3,), (), fill=fills, **kind)
    yield node("nll_loss_forward", (3,), (), fill=(R, ids(3)), reduction=1, ignore_index=-100)
    yield node("gather", (2, 5), (2, 3), fill=(R, ids(5)), dim=1)
    yield node("gather", (4, 3, 2), (1, 2, 2), fill=(R, ids(4)), dim=-3)
    yield node("scatter.src", (2, 5), (2, 3), (2, 4), fill=(R, order(5), R), dim=1)
    yield node("scatter.value", (2, 5), (2, 3), fill=(R, ids(5)), dim=-1, value=1.5)
    yield node("scatter_add", (4, 3), (2, 3), (2, 3), fill=(R, ids(4), R), dim=0)
    yield node("index.Tensor", (4, 3), (2, 2), fill=(R, near(4)), indices_count=1)
    yield node("index.Tensor", (4, 3, 2), (2,), fill=(R, near(3)), indices_count=2, absent=("indices.0",))
    yield node("index.Tensor", (4, 3, 2), (2, 1), (2,), fill=(R, near(4), near(3)), indices_count=2)
    yield node(
        "index.Tensor", (4, 3, 2), (2,), (2,), fill=(R, near(4), near(2)), indices_count=3, absent=("indices.1",)
    )
    yield node("index_put", (4, 3), (3,), (3, 3), fill=(R, order(4), R), indices_count=1)
    yield node("index_put", (4, 3), (6,), (3,), fill=(R, near(4), R), indices_count=1, accumulate=True)
    yield node("index_put", (4, 3), (3,), (3,), (), fill=(R, order(4), ids(3), R), indices_count=2)
    yield node("index_put", (4, 3), (4,), (), fill=(R, truth, R), indices_count=1, masks=(0,))
    yield node("index_put", (2, 3), (2, 3), (1,), fill=(whole, truth, whole), indices_count=1, masks=(0,))
    yield node("index_select", (4, 3), (5,), fill=(R, ids(3)), dim=-1)
    yield node("index_add", (4, 3), (5,), (5, 3), fill=(R, ids(4), R), dim=0, alpha=0.5)


def _shapes():
    for op in ("view", "_unsafe_view"):
        yield node(op, (2, 6), size=(2, 2, -1))
        yield node(op, (2, 6), size=(3, 4))
        yield node(op, (1,), size=())
    yield node("reshape", (2, 6), shape=(-1,))
    yield node("expand", (2, 1), size=(3, -1, 4))
    yield node("expand", (), size=(2, 3))
    yield node("t", (2, 3))
    yield node("t", (3,))
    yield node("transpose.int", (2, 3, 4), dim0=-1, dim1=0)
    yield node("permute", (2, 3, 4), dims=(2, 0, -2))
    yield node("squeeze", (1, 3, 1))
    yield node("squeeze.dim", (1, 3), dim=0)
    yield node("squeeze.dim", (2, 3), dim=-1)
    yield node("squeeze.dims", (1, 3, 1), dim=(0, 2))
    yield node("unsqueeze", (2, 3), dim=-1)
    yield node("unsqueeze", (2, 3), dim=1)
    yield node("repeat", (2, 1), repeats=(2, 1, 3))
    yield node("copy", (2, 3), (3,))
    yield node("flip", (2, 3), dims=(1,))
    yield node("roll", (2, 3), shifts=(1,), dims=(-1,))
    yield node("roll", (2, 3), shifts=(2,))
    yield node("constant_pad_nd", (2, 3), pad=(1, 2))
    yield node("constant_pad_nd", (2, 3), pad=(-1, 0, 0, 2), value=1.5)
    for op in ("clone", "detach", "alias", "lift_fresh", "lift_fresh_copy", "detach_copy"):
        yield node(op, (2, 3))
    yield node("slice.Tensor", (2, 7), dim=-1, start=1, end=9, step=2)
    yield node("slice.Tensor", (5, 2), start=-3)
    yield node("select.int", (2, 3), dim=1, index=-1)
    yield node("select.int", (3,), dim=0, index=1)
    yield node("narrow", (5, 2), dim=0, start=1, length=3)
    yield node("narrow", (4, 2), dim=-2, start=0, length=4)
    yield node("slice_backward", (2, 2), input_sizes=(2, 5), dim=1, start=1, end=4, step=2)
    yield node("select_backward", (2,), input_sizes=(2, 5), dim=1, index=-2)
    yield node("slice_scatter", (5, 2), (2, 2), dim=0, start=1, end=3)
    yield node("select_scatter", (3, 2), (3,), dim=-1, index=1)
    yield node("diagonal", (3, 4), offset=1)
    yield node("diagonal_scatter", (3, 3), (3,))
    yield node("split.Tensor", (7, 2), split_size=3)
    yield node("split.Tensor", (2, 4), split_size=2, dim=-1)
    yield node("split_with_sizes", (7, 2), split_sizes=(2, 1, 4))
    yield node("split_with_sizes_copy", (2, 3), split_sizes=(1, 2), dim=1)
    yield node("unbind.int", (2, 3), dim=1)
    yield node("unbind.int", (2,))
    yield node("cat", (2, 3), (2, 1), tensors_count=2, dim=-1)
    yield node("cat", (2,), tensors_count=1)
    yield node("stack", (2, 3), (2, 3), tensors_count=2, dim=1)
    yield node("as_strided", (2, 6), size=(2, 2), stride=(6, 2), storage_offset=1)
    yield node("as_strided", (1, 4), size=(0, 4), stride=(0, 0), storage_offset=0)
    yield node("as_strided_scatter", (12,), (2, 2), size=(2, 2), stride=(6, 2), storage_offset=1)


def _made():
    yield node("arange", end=5)
    yield node("arange", end=2.5, dtype="float64")
    yield node("arange.start", start=-1, end=3)
    yield node("arange.start_step", start=0, end=8, step=2, dtype="float64")
    yield node("arange.start_step", start=5, end=0, step=-2)
    yield node("linspace", start=0, end=1, steps=5, dtype="float64")
    yield node("linspace", start=2.5, end=-1, steps=4, dtype="float64")
    yield node("linspace", start=3, end=7, steps=1)
    yield node("full", size=(2, 3), fill_value=0.5, dtype="float64")
    yield node("full", size=(), fill_value=float("-inf"), dtype="float64")
    yield node("arange.start", start=-1, end=3, dtype="uint8")
    yield node("arange", end=260, dtype="uint8")
    yield node("arange", end=270, dtype="bfloat16")
    yield node("arange.start", start=2045, end=2055, dtype="float16")
    yield node("full", size=(2,), fill_value=True, dtype="bool")
    yield node("zeros", size=(2, 3), dtype="float64")
    yield node("ones", size=(2,), dtype="float64")
    yield node("scalar_tensor", s=0.25, dtype="float64")
    yield node("full_like", (2, 3), fill_value=2)
    yield node("zeros_like", (2, 3))
    yield node("ones_like", ())
    yield node("zero", (2,))
    yield node("new_full", (2,), size=(3,), fill_value=1.5)
    yield node("new_zeros", (2,), size=(3, 1))
    yield node("new_ones", (2,), size=(3,))
    yield node("fill.Scalar", (2, 3), value=0.5)
    yield node("fill.Tensor", (2, 3), ())
    for diagonal in (-1, 0, 2):
        yield node("triu", (2, 3, 4), diagonal=diagonal)
        yield node("tril", (4, 3), diagonal=diagonal)


def _chosen():
    for op in ("lt", "le", "gt", "ge", "eq", "ne"):
        yield node(f"{op}.Tensor", (2, 3), (3,), fill=whole)
        yield node(f"{op}.Scalar", (2, 3), fill=whole, other=1)
        yield node(f"{op}.Scalar", (), other=0.5)
    for op in ("logical_and", "logical_or", "logical_xor"):
        yield node(op, (2, 3), (3,), fill=truth)
        yield node(op, (2, 3), (2, 3), fill=whole)
    yield node("logical_not", (2, 3), fill=whole)
    for op in ("and", "or", "xor"):
        for name in (f"bitwise_{op}", f"__{op}__"):
            yield node(f"{name}.Tensor", (2, 3), (3,), fill=truth)
            yield node(f"{name}.Scalar", (2, 3), fill=whole, other=2)
    yield node("bitwise_not", (2, 3), fill=truth, dtype="bool")
    yield node("bitwise_not", (2, 3), fill=whole)
    yield node("add.Tensor", (2, 3), (3,), fill=truth, dtype="bool")
    yield node("where.self", (2, 3), (2, 3), (3,), fill=(truth, R, R))
    yield node("where.self", (2, 1), (), (3,), fill=(truth, R, R))
    yield node("where.ScalarOther", (2, 3), (2, 3), fill=(truth, R), other=0.5)
    yield node("where.ScalarSelf", (2, 3), (2, 3), fill=(truth, R), self=float("-inf"))
    yield node("where.Scalar", (2, 3), fill=truth, self=1, other=0)
    yield node("masked_fill.Scalar", (2, 3), (3,), fill=(R, truth), value=float("-inf"))
    yield node("masked_fill.Tensor", (2, 3), (2, 3), (), fill=(R, truth, R))
    yield node("_to_copy", (2, 3), dtype="float64")
    yield node("_to_copy", (2, 3), dtype="int64")
    yield node("_to_copy", (2, 3), fill=whole, dtype="bool")
    yield node("_to_copy", (2, 3), fill=truth, dtype="float64")


def _reduced():
    for op in ("sum", "mean", "max", "min"):
        yield node(op, (2, 3))
        yield node(op, ())
    for op in ("sum.dim_IntList", "mean.dim", "amax", "amin", "logsumexp"):
        yield node(op, (2, 3, 2), dim=(0, -1))
        yield node(op, (2, 1, 2), dim=(1,), keepdim=True)
    yield node("sum.dim_IntList", (2, 3), dim=None)
    yield node("sum", (2, 3), fill=truth, dtype="int64")
    for op in ("var_mean.correction", "var.correction"):
        yield node(op, (2, 3), dim=(1,), keepdim=True)
        yield node(op, (2, 3), dim=(0,), correction=0)
        yield node(op, (2, 3), dim=(1,), correction=1.25)
    for op in ("max.dim", "min.dim"):
        yield node(op, (2, 3), fill=order(6), dim=-1)
        yield node(op, (2, 3), fill=order(6), dim=0, keepdim=True)
    for op in ("argmax", "argmin"):
        yield node(op, (2, 3), fill=order(6), dim=1)
        yield node(op, (1, 4), fill=order(6), dim=1, keepdim=True)
        yield node(op, (1, 4), fill=order(6))
    for op in ("any", "all"):
        yield node(op, (2, 3), fill=truth)
        yield node(f"{op}.dim", (2, 3), fill=truth, dim=1, keepdim=True)
    for order_ in (1, 2, 3, 2.5, 0.5, float("inf")):
        yield node("linalg_vector_norm", (2, 3), ord=order_)
        yield node("linalg_vector_norm", (2, 3), ord=order_, dim=(1,), keepdim=True)
    for op in ("cumsum", "cumprod", "logcumsumexp"):
        yield node(op, (2, 3), dim=-1)
        yield node(op, (2, 3), dim=0)
    yield node("cumprod", (2, 3), fill=whole, dim=1, dtype="int64")
    yield node("prod", (2, 3))
    yield node("prod", (2, 3), fill=whole, dtype="int64")
    yield node("prod.dim_int", (2, 3), dim=-1, keepdim=True)
    yield node("prod.dim_int", (2, 3), dim=0)
    for op in ("topk", "sort"):
        k = {"k": 2} if op == "topk" else {}
        yield node(op, (2, 5), fill=order(9), **k, dim=-1)
        yield node(op, (2, 5), fill=order(9), **k, dim=1, **({"largest": False} if k else {"descending": True}))


NODES = tuple(
    found
    for family in (
        _each,
        _angles_and_signs,
        _squared,
        _by_cases,
        _matrices,
        _normalised,
        _lookups,
        _shapes,
        _made,
        _chosen,
        _reduced,
    )
    for found in family()
) + tuple(matrix_cases.nodes(node))
