"""Single edits of Python source: another constant, operator, reduction, rank, order, a line left out or done twice."""

import ast
import copy
import random
from collections.abc import Callable, Iterator

Edit = Callable[[], str]
"""Changes the tree, and says what it did."""
SWAPPED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.BitAnd: ast.BitOr,
}  # fmt: skip
WORDS = {
    "AVG": ("SUM", "MAX"), "SUM": ("AVG", "MAX"), "MAX": ("SUM", "MIN"), "relu": ("gelu",), "gelu": ("relu", "silu"),
    "silu": ("gelu",), "tanh": ("sigmoid",), "mean": ("sum",), "sum": ("mean",), "amax": ("amin",), "sin": ("cos",),
    "cos": ("sin",), "rsqrt": ("sqrt",), "broadcast": ("all_reduce",), "clamp": ("clip",),
}  # fmt: skip
SAID = ("Program", "shard", "partial", "mean")
"""Functions by which a program says what its tensors are."""


def edits(source: str, draw: random.Random) -> Iterator[tuple[str, str, str]]:
    """(kind, what, source) of every single edit, in random order."""
    tree = ast.parse(source)
    before = ast.unparse(tree)
    places = [(number, kind) for number, (kind, _) in enumerate(_edits(tree, random.Random(0)))]
    by_kind: dict[str, list[int]] = {}
    for number, kind in places:
        by_kind.setdefault(kind, []).append(number)
    while by_kind:
        kind = draw.choice(sorted(by_kind))
        number = by_kind[kind].pop(draw.randrange(len(by_kind[kind])))
        if not by_kind[kind]:
            del by_kind[kind]
        changed = ast.parse(source)
        _, edit = next(found for at, found in enumerate(_edits(changed, draw)) if at == number)
        told = edit()
        text = ast.unparse(ast.fix_missing_locations(changed))
        if text != before:
            yield kind, told, text


def _edits(tree: ast.Module, draw: random.Random) -> Iterator[tuple[str, Edit]]:
    """Every place that an edit can be made at, always in one order."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name not in ("build_single", "forward_single"):
            if node.name in ("weights", "data"):
                continue
            for inner in _within(node):
                if not (isinstance(inner, ast.FunctionDef) and inner.name == "__init__"):
                    yield from _of_block(inner)
                yield from _of_expression(inner, draw)


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """What is in it, without what a program says of itself: which part of a tensor a rank holds is no computation."""
    yield node
    for inner in ast.iter_child_nodes(node):
        called = inner.func.id if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) else ""
        names = {name.id for name in getattr(inner, "targets", ()) if isinstance(name, ast.Name)}
        if called not in SAID and not names & {"specs", "rows"}:
            yield from _within(inner)


def _where(node: ast.AST) -> str:
    return f"line {getattr(node, 'lineno', 0)}"


def _of_block(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    for field in ("body", "orelse"):
        block = getattr(node, field, None)
        if not isinstance(block, list):
            continue
        for at, statement in enumerate(block):
            simple = isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign | ast.For)
            if not simple or _is_word(statement):
                continue
            named = isinstance(statement, ast.Assign)
            if not named or _again(statement):
                yield "missing", _dropped(block, at)
            if not isinstance(statement, ast.For) and (not named or _again(statement)):
                yield "doubled", _doubled(block, at)
            if at + 1 < len(block) and isinstance(block[at + 1], ast.Expr | ast.Assign | ast.AugAssign | ast.For):
                yield "order", _exchanged(block, at)


def _is_word(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _again(statement: ast.Assign) -> bool:
    """Whether what is assigned is computed from what had that name before."""
    names = {node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return bool(names & {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)})


def _dropped(block: list[ast.stmt], at: int) -> Edit:
    def edit() -> str:
        told = f"{_where(block[at])}: left out `{ast.unparse(block[at])[:70]}`"
        block[at] = ast.copy_location(ast.Pass(), block[at])
        return told

    return edit


def _doubled(block: list[ast.stmt], at: int) -> Edit:
    def edit() -> str:
        block.insert(at, copy.deepcopy(block[at]))
        return f"{_where(block[at])}: twice `{ast.unparse(block[at])[:70]}`"

    return edit


def _exchanged(block: list[ast.stmt], at: int) -> Edit:
    def edit() -> str:
        block[at], block[at + 1] = block[at + 1], block[at]
        return f"{_where(block[at])}: exchanged with the next `{ast.unparse(block[at])[:70]}`"

    return edit


def _of_expression(node: ast.AST, draw: random.Random) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "flag", _constant(node, lambda: not node.value)
        elif isinstance(node.value, int):
            yield "constant", _constant(node, lambda: draw.choice((node.value + 1, node.value - 1, node.value * 2)))
        elif isinstance(node.value, float):
            yield (
                "constant",
                _constant(node, lambda: draw.choice((2.0, 0.5, 1.01, -1.0)) * node.value + (not node.value)),
            )
        elif node.value in ("mean", "sum"):
            yield "reduction", _constant(node, lambda: {"mean": "sum", "sum": "mean"}[node.value])
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in SWAPPED:
        yield "operator", _swapped(node)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        yield "operator", _compared(node)
    elif isinstance(node, ast.Attribute):
        yield from _of_attribute(node, draw)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in ("rank", "world"):
        yield "rank", _named(node, draw)
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Slice) and node.lower is not None and node.upper is not None:
        yield "slice", _moved(node)


def _constant(node: ast.Constant, value: Callable[[], object]) -> Edit:
    def edit() -> str:
        before = node.value
        node.value = value()
        return f"{_where(node)}: {node.value!r} for {before!r}"

    return edit


def _swapped(node: ast.BinOp | ast.AugAssign) -> Edit:
    def edit() -> str:
        before = ast.unparse(node)
        node.op = SWAPPED[type(node.op)]()
        return f"{_where(node)}: `{ast.unparse(node)[:60]}` for `{before[:60]}`"

    return edit


def _compared(node: ast.Compare) -> Edit:
    def edit() -> str:
        before = ast.unparse(node)
        node.ops[0] = SWAPPED[type(node.ops[0])]()
        return f"{_where(node)}: `{ast.unparse(node)[:60]}` for `{before[:60]}`"

    return edit


def _of_attribute(node: ast.Attribute, draw: random.Random) -> Iterator[tuple[str, Edit]]:
    def word() -> str:
        before = node.attr
        node.attr = draw.choice(WORDS[node.attr])
        return f"{_where(node)}: {node.attr} for {before}"

    def rank() -> str:
        return _ranked(node, node, draw)

    if node.attr in WORDS:
        yield ("reduction" if node.attr in ("AVG", "SUM", "MAX") else "function"), word
    if node.attr in ("rank", "world") and isinstance(node.value, ast.Name):
        yield "rank", rank


def _ranked(node: ast.AST, place: ast.Attribute | ast.Name, draw: random.Random) -> str:
    """Write another rank, or another number of ranks, in the place of a name."""
    before = ast.unparse(place)
    of = before.rpartition(".")[0]
    dot = f"{of}." if of else ""
    is_rank = before.endswith("rank")
    texts = (f"({dot}world - 1 - {dot}rank)", "0", f"({dot}rank + 1)") if is_rank else ("1", f"({dot}world * 2)")
    text = draw.choice(texts)
    new = ast.parse(text, mode="eval").body
    place.__class__ = new.__class__  # type: ignore[assignment]
    place.__dict__ = {**new.__dict__, "lineno": getattr(node, "lineno", 0), "col_offset": 0}
    return f"{_where(node)}: {text} for {before}"


def _named(node: ast.Name, draw: random.Random) -> Edit:
    return lambda: _ranked(node, node, draw)


def _of_call(node: ast.Call) -> Iterator[tuple[str, Edit]]:
    """Arguments exchanged or left out; a function that is not called on its argument."""

    def exchanged() -> str:
        before = ast.unparse(node)
        node.args[0], node.args[1] = node.args[1], node.args[0]
        return f"{_where(node)}: `{ast.unparse(node)[:60]}` for `{before[:60]}`"

    def skipped() -> str:
        before, inner = ast.unparse(node), node.args[0]
        node.__class__ = inner.__class__  # type: ignore[assignment]
        node.__dict__ = dict(inner.__dict__)
        return f"{_where(node)}: `{ast.unparse(node)[:60]}` for `{before[:60]}`"

    if len(node.args) > 1 and not any(isinstance(arg, ast.Starred) for arg in node.args[:2]):
        yield "exchanged", exchanged
    applied = isinstance(node.func, ast.Attribute) and node.func.attr in ("apply", "relu", "gelu", "silu", "tanh")
    if applied and len(node.args) == 1:
        yield "skipped", skipped
    for at, keyword in enumerate(node.keywords):
        if keyword.arg in ("op", "group", "keepdim", "reduction", "dim", "async_op", "src", "weight_decay", "momentum"):
            yield "left out", _without(node, at)


def _without(node: ast.Call, at: int) -> Edit:
    def edit() -> str:
        before = ast.unparse(node.keywords[at])
        del node.keywords[at]
        return f"{_where(node)}: without {before}"

    return edit


def _moved(node: ast.Slice) -> Edit:
    def edit() -> str:
        before = ast.unparse(node)
        for end in ("lower", "upper"):
            value = getattr(node, end)
            setattr(node, end, ast.BinOp(value, ast.Add(), ast.Constant(1)))
        return f"{_where(node)}: [{ast.unparse(node)}] for [{before}]"

    return edit
