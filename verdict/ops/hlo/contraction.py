"""dot: y[batch.., free of a.., free of b..] = sum over the contracted dimensions of a b."""

import numpy as np

from verdict.ops import numbers
from verdict.ops.aten.form import REQUIRED, Arguments
from verdict.ops.hlo.form import hlo
from verdict.ops.rule import Array, Atom, Axes, Dim, Law
from verdict.ops.shapes import make_axes
from verdict.ops.types import promoted

DIMENSIONS = ("lhs_batch", "rhs_batch", "lhs_contracting", "rhs_contracting")


def _axes(args: Arguments) -> Axes:
    a, b = args.given
    batch, others = args["lhs_batch"], args["rhs_batch"]
    summed, against = args["lhs_contracting"], args["rhs_contracting"]
    for shape, dims in ((a, (*batch, *summed)), (b, (*others, *against))):
        if len(set(dims)) < len(dims) or any(not 0 <= k < len(shape) for k in dims):
            raise args.misfit(f"dimensions {dims} are none of {shape}, or one of them twice")
    if len(batch) != len(others) or len(summed) != len(against):
        raise args.misfit("the two sides name different numbers of dimensions")
    pairs = (*zip(batch, others, strict=True), *zip(summed, against, strict=True))
    if any(a[k] != b[n] for k, n in pairs):
        raise args.misfit(f"shapes {a} and {b} do not fit in dimensions {pairs}")
    atoms = [Atom(f"p{k}", a[k]) for k in batch] + [Atom(f"k{k}", a[k], Law.SUM, 2) for k in summed]
    left = {**{k: f"p{k}" for k in batch}, **{k: f"k{k}" for k in summed}}
    right = {n: left[k] for k, n in pairs}
    free = [k for k in range(len(a)) if k not in left]
    beside = [n for n in range(len(b)) if n not in right]
    atoms += [Atom(f"i{k}", a[k]) for k in free] + [Atom(f"j{n}", b[n]) for n in beside]
    left |= {k: f"i{k}" for k in free}
    right |= {n: f"j{n}" for n in beside}
    made: tuple[Dim, ...] = (*((left[k],) for k in (*batch, *free)), *((right[n],) for n in beside))
    read = (tuple((left[k],) for k in range(len(a))), tuple((right[n],) for n in range(len(b))))
    return make_axes(atoms, read, (made,))


def _dot(args: Arguments) -> Array:
    a, b = args.given
    batch, others = list(args["lhs_batch"]), list(args["rhs_batch"])
    summed, against = list(args["lhs_contracting"]), list(args["rhs_contracting"])
    free = [k for k in range(a.ndim) if k not in (*batch, *summed)]
    beside = [n for n in range(b.ndim) if n not in (*others, *against)]
    left, right = np.transpose(a, [*batch, *free, *summed]), np.transpose(b, [*others, *against, *beside])
    pages, rows, columns = ([x.shape[k] for k in dims] for x, dims in ((a, batch), (a, free), (b, beside)))
    count = int(np.prod([a.shape[k] for k in summed], dtype=np.int64))
    page = int(np.prod(pages, dtype=np.int64))
    one = left.reshape(page, int(np.prod(rows, dtype=np.int64)), count)
    two = right.reshape(page, count, int(np.prod(columns, dtype=np.int64)))
    return numbers.matmul(one, two).reshape((*pages, *rows, *columns))


RULES = (
    hlo(
        "dot",
        "self other",
        dict.fromkeys(DIMENSIONS, REQUIRED),
        _axes,
        _dot,
        "y = sum over the contracted dimensions of a b, each batch",
        linear=(0, 1),
        types=promoted,
    ),
)
