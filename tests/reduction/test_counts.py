"""What counts are compared with, and what is multiplied of them, is reached at reduced shapes as at full ones.

Numbers that are drawn reach few of these conditions, and are switched off here.
"""

import pytest

from tests.reduction.test_chains import chain
from tests.reduction.test_parts import longest, outline, reduced
from tests.values.outline import verdict

pytestmark = pytest.mark.usefixtures("no_numbers")

KINDS = {
    "t": "input int64 [512]", "l": "input int64 [1]", "v": "input [512]", "x": "input [512, 4]",
    "e": "weight [5000, 4]",
    **dict.fromkeys(["p"], "activation int64 [512]"),
    **dict.fromkeys(["c", "c2", "r", "m"], "activation bool [512]"),
    **dict.fromkeys(["g", "h", "z", "u", "k"], "activation [512]"),
    "b": "activation [2, 512]", "bs": "activation [2]", "a": "activation bool [32]", "ap": "activation bool [512]",
    **dict.fromkeys(["n", "n2"], "activation int64 []"),
    **dict.fromkeys(["s"], "activation []"),
    **dict.fromkeys(["d", "d2", "q"], "activation bool []"), "o": "activation bool [1]", "oq": "activation bool [1]",
    "f": "activation []", "fl": "activation [1]", "w": "activation [512, 4]",
    **dict.fromkeys(["y", "yy"], "activation [512, 4]"),
}  # fmt: skip
"""The tensors of the programs below."""
ID, PLACES = "c = aten.eq.Scalar(t) other=2507", 'p = aten.arange() end=512 dtype="int64"'
NUMBERS = 'g = aten._to_copy(c) dtype="float32"'
GUARDS = {
    "a count of one part": (
        ID, PLACES, "r = aten.ge.Scalar(p) other=480", "m = aten.logical_and(c, r)", "n = aten.sum(m)",
        "q = aten.ge.Scalar(n) other=20",
    ),
    "a count of what is padded": (
        ID, "a = aten.slice.Tensor(c) dim=0 start=480 end=512", "ap = aten.constant_pad_nd(a) pad=(480, 0) value=0",
        "n = aten.sum(ap)", "q = aten.ge.Scalar(n) other=20",
    ),
    "counts of what excludes each other": (
        ID, "c2 = aten.eq.Scalar(t) other=2508", "n = aten.sum(c)", "n2 = aten.sum(c2)",
        "d = aten.ge.Scalar(n) other=4", "d2 = aten.ge.Scalar(n2) other=4", "q = aten.logical_and(d, d2)",
    ),
    "a count beside what is zero": (
        ID, NUMBERS, "z = aten.mul.Scalar(v) other=0", "h = add(z, g)", "s = aten.sum(h)",
        "q = aten.gt.Scalar(s) other=40",
    ),
    "a count beside what vanishes": (
        ID, NUMBERS, "z = aten.sub.Tensor(v, v)", "h = add(z, g)", "s = aten.sum(h)", "q = aten.gt.Scalar(s) other=40",
    ),
    "a count beside data in one tensor": (
        ID, NUMBERS, "u = mul(v, g)", "b = aten.stack(u, g)", "bs = aten.sum.dim_IntList(b) dim=(1,)",
        "s = aten.select.int(bs) dim=0 index=1", "q = aten.gt.Scalar(s) other=40",
    ),
}  # fmt: skip
"""Steps to a condition, "q"."""


def guarded(steps, alike=False):
    """Rows of a table, twice as great where a condition holds; or as they are."""
    last = ['f = aten._to_copy(q) dtype="float32"', "w = aten.embedding(e, t)"]
    last += ["y = aten.zeros_like(w)" if alike else "y = aten.mul.Tensor(w, f)", "yy = add(w, y)", "output yy"]
    return program([*steps, *last])


def program(steps):
    used = {name for step in steps for name in step.replace("(", " ").replace(")", " ").replace(",", " ").split()}
    lines = [f"{name} {kind}" for name, kind in KINDS.items() if name in used]
    ranges = [line for name, line in (("t", "range t 0 4999"), ("l", "range l 0 511")) if name in used]
    return outline(*lines, *ranges, *steps)


@pytest.mark.parametrize("name", GUARDS)
def test_conditions_on_counts_hold_where_they_do_at_full_shapes(name):
    right = guarded(GUARDS[name])
    assert verdict(right, right) == "PROVED"
    assert verdict(right, guarded(GUARDS[name], alike=True)) != "PROVED"


def coupled(alike=False):
    """As many positions as an id says are before it."""
    steps = [PLACES, "r = aten.lt.Tensor(p, l)", "n = aten.sum(r)", "d = aten.ge.Scalar(n) other=40"]
    steps += ["o = aten.lt.Scalar(l) other=100", "oq = aten.logical_and(o, d)"]
    steps += ['fl = aten._to_copy(oq) dtype="float32"']
    steps += ["y = aten.zeros_like(x)" if alike else "y = aten.mul.Tensor(x, fl)", "yy = add(x, y)", "output yy"]
    return program(steps)


def test_a_count_of_positions_has_the_scale_of_what_they_are_compared_with():
    assert verdict(coupled(), coupled()) == "PROVED"
    assert verdict(coupled(), coupled(alike=True)) != "PROVED"


def used(alike=False):
    """The rows of a table of six kinds, twice where each of them has two and more."""
    lines = ["t input int64 [512]", "range t 0 5", "e weight [6, 4]", "p activation int64 [6]"]
    lines += ["u activation int64 [512, 1]", "c activation bool [512, 6]", "n activation int64 [6]"]
    lines += ["d activation bool [6]", "q activation bool []", "f activation []", "x activation [512, 4]"]
    lines += ["y activation [512, 4]", "z activation [512, 4]"]
    steps = ['p = aten.arange() end=6 dtype="int64"', "u = aten.unsqueeze(t) dim=1", "c = aten.eq.Tensor(u, p)"]
    steps += ["n = aten.sum.dim_IntList(c) dim=(0,)", "d = aten.ge.Scalar(n) other=2", "q = aten.all(d)"]
    steps += ['f = aten._to_copy(q) dtype="float32"', "x = aten.embedding(e, t)"]
    steps += ["y = aten.zeros_like(x)" if alike else "y = aten.mul.Tensor(x, f)", "z = add(x, y)", "output z"]
    return outline(*lines, *steps)


def test_counts_of_what_ids_name_need_elements_of_their_own():
    assert longest(used()) > 12
    assert verdict(used(), used()) == "PROVED"
    assert verdict(used(), used(alike=True)) != "PROVED"


def segments(kinds, alike=False, told="gt"):
    """The rows, twice where the sum of what is positive is more than zero in each of so many segments."""
    lines = ["t input int64 [512]", f"range t 0 {kinds - 1}", "v input [512]", f"e weight [{kinds}, 4]"]
    lines += ["a activation [512]"]
    lines += [f"p activation int64 [{kinds}]", "u activation int64 [512, 1]", f"c activation bool [512, {kinds}]"]
    lines += [f"g activation [512, {kinds}]", "b activation [512, 1]", f"h activation [512, {kinds}]"]
    lines += [f"s activation [{kinds}]", f"d activation bool [{kinds}]", "q activation bool []", "f activation []"]
    lines += ["x activation [512, 4]", "y activation [512, 4]", "z activation [512, 4]"]
    steps = [f'p = aten.arange() end={kinds} dtype="int64"', "u = aten.unsqueeze(t) dim=1", "c = aten.eq.Tensor(u, p)"]
    steps += ['g = aten._to_copy(c) dtype="float32"', "a = sigmoid(v)", "b = aten.unsqueeze(a) dim=1", "h = mul(b, g)"]
    steps += ["s = aten.sum.dim_IntList(h) dim=(0,)", f"d = aten.{told}.Scalar(s) other=0", "q = aten.all(d)"]
    steps += ['f = aten._to_copy(q) dtype="float32"', "x = aten.embedding(e, t)"]
    steps += ["y = aten.zeros_like(x)" if alike else "y = aten.mul.Tensor(x, f)", "z = add(x, y)", "output z"]
    return outline(*lines, *steps)


def test_sums_of_what_ids_choose_are_no_others_than_zero_alike():
    assert longest(segments(6)) == 512
    assert verdict(segments(6), segments(6)) == "PROVED"
    assert verdict(segments(6), segments(6, alike=True)) != "PROVED"


def test_what_is_never_negative_needs_no_elements_to_be_told_so():
    assert verdict(segments(6, told="ge"), segments(6, told="ge")) == "PROVED"
    assert verdict(segments(6, told="ge"), segments(6, told="lt")) == "REFUTED"


def summed(bound, same):
    """Rows whose ids, twice or added to another one that is the same, are less than a number."""
    other = ("t", "t") if same else ("t", "i")
    lines = ["t input int64 [16]", "i input int64 [16]", "range t 0 1023", "range i 0 1023", "e weight [1024, 4]"]
    lines += ["s activation int64 [16]", "c activation bool [16]", "d activation bool [16]", "q activation bool [16]"]
    lines += ["f activation [16]", "g activation [16, 1]", "x activation [16, 4]", "z activation [16, 4]"]
    lines += ["x2 activation [16, 4]", "y activation [16, 4]"]
    steps = [f"s = aten.add.Tensor({other[0]}, {other[1]})", f"c = aten.lt.Scalar(s) other={bound}"]
    steps += ["d = aten.eq.Tensor(t, i)", "q = aten.logical_and(c, d)", 'f = aten._to_copy(q) dtype="float32"']
    steps += ["g = aten.unsqueeze(f) dim=1", "x = aten.embedding(e, t)", "x2 = aten.embedding(e, i)", "z = add(x, x2)"]
    return outline(*lines, *steps, "y = aten.mul.Tensor(z, g)", "output y")


@pytest.mark.parametrize("same", [True, False])
def test_sums_of_equal_coordinates_keep_the_parity_of_what_they_are_compared_with(same):
    """2 t < 1000 and 2 t < 1001 are not the same where t is 500."""
    assert verdict(summed(1001, same), summed(1001, same)) == "PROVED"
    assert verdict(summed(1001, same), summed(1000, same)) != "PROVED"


def loads(kinds, alike=False):
    """The rows, times one more than the product of how many there are of each kind."""
    lines = ["t input int64 [512]", "range t 0 4999", "x input [512, 4]", "w weight [4]"]
    steps = []
    for k in range(kinds):
        lines += [f"c{k} activation bool [512]", f"n{k} activation int64 []", f"f{k} activation []"]
        steps += [f"c{k} = aten.eq.Scalar(t) other={2500 + k}", f"n{k} = aten.sum(c{k})"]
        steps += [f'f{k} = aten._to_copy(n{k}) dtype="float32"']
        if k:
            lines += [f"m{k} activation []"]
            steps += [f"m{k} = aten.mul.Tensor({'f0' if k == 1 else f'm{k - 1}'}, f{k})"]
    lines += ["y activation [512, 4]", "yy activation [512, 4]", "o activation [512, 4]"]
    steps += ["y = aten.zeros_like(x)" if alike else f"y = aten.mul.Tensor(x, m{kinds - 1})", "yy = add(x, y)"]
    return outline(*lines, *steps, "o = mul(yy, w)", "output o")


def test_products_of_counts_keep_an_element_for_each():
    assert longest(loads(3)) < 12
    assert verdict(loads(6), loads(6)) == "PROVED"
    assert verdict(loads(6), loads(6, alike=True)) != "PROVED"


def falling(factors, alike=False, horner=False):
    """The rows, times one more than n (n - 1) (n - 2) .. of the count n of one kind; of n alone, or of rows times n."""
    lines = ["t input int64 [512]", "range t 0 4999", "x input [512, 4]", "w weight [4]", "c activation bool [512]"]
    lines += ["n activation int64 []", "f activation []", "y activation [512, 4]", "z activation [512, 4]"]
    lines += ["o activation [512, 4]"]
    steps = ["c = aten.eq.Scalar(t) other=2500", "n = aten.sum(c)", 'f = aten._to_copy(n) dtype="float32"']
    last, shape = ("x", "[512, 4]") if horner else ("f", "[]")
    for k in range(0 if horner else 1, factors):
        lines += [f"{name}{k} activation {shape}" for name in "apr"]
        if horner:
            steps += [f"a{k} = mul({last}, f)", f"p{k} = aten.mul.Scalar({last}) other={k}.0"]
            steps += [f"r{k} = sub(a{k}, p{k})"]
        else:
            lines[-3:] = [f"a{k} activation []", f"r{k} activation []"]
            steps += [f"a{k} = aten.sub.Scalar(f) other={k}.0", f"r{k} = aten.mul.Tensor({last}, a{k})"]
        last = f"r{k}"
    product = f"aten.clone({last})" if horner else f"aten.mul.Tensor(x, {last})"
    steps += ["y = aten.zeros_like(x)" if alike else f"y = {product}", "z = add(x, y)"]
    return outline(*lines, *steps, "o = mul(z, w)", "output o")


@pytest.mark.parametrize("horner", [False, True])
def test_products_of_one_count_keep_as_many_elements_as_they_have_factors(horner):
    right, wrong = falling(6, horner=horner), falling(6, alike=True, horner=horner)
    assert longest(right) > 6 and (horner or longest(falling(2)) < longest(right) < 24)
    assert verdict(right, right) == "PROVED"
    assert verdict(right, wrong) != "PROVED"


def squared(times, factor):
    """h + factor * (m m .. m) h, where m is strictly triangular, squared so many times."""
    text, rows = chain("triangle", 1, factor), "m"
    lines, steps = [], []
    for n in range(times):
        lines.append(f"  s{n} activation [512, 512]")
        steps.append(f"  s{n} = aten.mm({rows}, {rows})")
        rows = f"s{n}"
    first = next(line for line in text.splitlines() if "y0 =" in line)
    return text.replace(first, "\n".join([*lines, *steps, first.replace("(m,", f"({rows},")]))


@pytest.mark.parametrize("times", [1, 2, 3])
def test_squares_of_relations_join_twice_as_many(times):
    assert longest(squared(times, 2)) > 1 << times
    assert verdict(squared(times, 2), squared(times, 2)) == "PROVED"
    assert verdict(squared(times, 2), squared(times, 3)) == "REFUTED"


def symmetric(degree, alike=False):
    """The rows, times one more than the sum of all products of so many different ones of other numbers."""
    lines = ["x input [512, 4]", "v input [512]", "w weight [4]", "q activation []"]
    steps = []
    for k in range(1, degree + 1):
        lines += [f"v{k} activation [512]", f"p{k} activation []", f"e{k} activation []"]
        steps += [f"v{k} = {'aten.clone(v)' if k == 1 else f'mul(v{k - 1}, v)'}", f"p{k} = aten.sum(v{k})"]
        last = f"p{k}"
        for i in range(1, k):
            lines += [f"m{k}_{i} activation []", f"d{k}_{i} activation []"]
            steps += [f"m{k}_{i} = mul(e{i}, p{k - i})", f"d{k}_{i} = sub(m{k}_{i}, {last})"]
            last = f"d{k}_{i}"
        steps.append(f"e{k} = aten.div.Scalar({last}) other={k}.0")
    lines += ["y activation [512, 4]", "z activation [512, 4]", "o activation [512, 4]"]
    steps += ["y = aten.zeros_like(x)" if alike else f"y = aten.mul.Tensor(x, e{degree})", "z = add(x, y)"]
    return outline(*(line for line in lines if not line.startswith("q ")), *steps, "o = mul(z, w)", "output o")


@pytest.mark.parametrize("degree", [2, 5])
def test_sums_of_powers_are_independent_of_as_many_elements(degree):
    right = symmetric(degree)
    assert degree <= longest(right) < 12
    assert verdict(right, right) == "PROVED"
    assert verdict(right, symmetric(degree, alike=True)) != "PROVED"


def ring(hops, alike=False):
    """The rows, twice where an id comes back after so many lookups, and not after less."""
    lines = ["n input int64 [5000]", "range n 0 4999", "t input int64 [64]", "range t 0 4999", "x input [64, 4]"]
    lines += ["w weight [4]"]
    steps, last = [], "t"
    for k in range(1, hops + 1):
        lines += [f"h{k} activation int64 [64]", f"c{k} activation bool [64]", f"a{k} activation bool [64]"]
        compare = "eq" if k == hops else "ne"
        steps += [f"h{k} = aten.index.Tensor(n, {last}) indices_count=1", f"c{k} = aten.{compare}.Tensor(h{k}, t)"]
        steps += [f"a{k} = aten.clone(c{k})" if k == 1 else f"a{k} = aten.logical_and(a{k - 1}, c{k})"]
        last = f"h{k}"
    lines += ["u activation bool [64, 1]", "f activation [64, 1]", "y activation [64, 4]", "z activation [64, 4]"]
    lines += ["o activation [64, 4]"]
    steps += [f"u = aten.unsqueeze(a{hops}) dim=1", 'f = aten._to_copy(u) dtype="float32"']
    steps += ["y = aten.zeros_like(x)" if alike else "y = aten.mul.Tensor(x, f)", "z = add(x, y)", "o = mul(z, w)"]
    return outline(*lines, *steps, "output o")


def gathered(stacked):
    """The rows times the product of five sums along one axis: parts of one tensor, or each summed alone."""
    lines, steps = ["x input [512, 4]", "v input [512, 5]", "w weight [4]"], []
    if stacked:
        lines.append("s activation [5]")
        steps.append("s = aten.sum.dim_IntList(v) dim=(0,)")
    for k in range(5):
        lines += [f"p{k} activation []", f"q{k} activation []"]
        if not stacked:
            lines.append(f"v{k} activation [512]")
            steps += [f"v{k} = aten.select.int(v) dim=1 index={k}", f"p{k} = aten.sum(v{k})"]
        else:
            steps.append(f"p{k} = aten.select.int(s) dim=0 index={k}")
        steps.append(f"q{k} = aten.clone(p{k})" if k == 0 else f"q{k} = mul(q{k - 1}, p{k})")
    lines += ["y activation [512, 4]", "z activation [512, 4]"]
    return outline(*lines, *steps, "y = mul(x, q4)", "z = mul(y, w)", "output z")


@pytest.mark.parametrize("stacked", [False, True])
def test_sums_that_are_taken_from_one_tensor_are_different_ones(stacked):
    rows, _ = reduced(gathered(stacked)).small[0].logicals[1]
    assert 5 <= rows < 12
    assert verdict(gathered(stacked), gathered(stacked)) == "PROVED"


@pytest.mark.parametrize("hops", [2, 6])
def test_lookups_of_ids_have_elements_of_their_own(hops):
    assert hops < longest(ring(hops)) < 64
    assert verdict(ring(hops), ring(hops)) == "PROVED"
    assert verdict(ring(hops), ring(hops, alike=True)) != "PROVED"
