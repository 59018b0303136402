"""topk and sort: arrays put in the order of the first of them, where the computation that compares says which it is."""

from verdict.backends.hlo.instruction import At, named
from verdict.backends.hlo.text import DTYPES, Array, Computation, Instruction, Tuple
from verdict.backends.hlo.values import Found, Made, Refused
from verdict.backends.torch.trace import Value

DESCENDING = {"LT": False, "GT": True}
"""By how the first of two elements compares with the second, whether the greatest comes first."""


def ordered(at: At) -> Found:
    """What a topk or a sort makes. Raises Refused."""
    if at.each.opcode == "topk":
        attrs = {"k": at.each.attrs.get("k", ""), "largest": at.each.attrs.get("largest", "true")}
        if not attrs["k"].isdecimal() or attrs["largest"] not in ("true", "false") or len(at.operands) != 1:
            raise Refused("it does not say how many it takes")
        return _several(at, "hlo.topk", k=int(attrs["k"]), largest=attrs["largest"] == "true")
    computation = at.module.computations.get(at.each.attrs.get("to_apply", "").lstrip("%"))
    dims = at.numbers("dimensions")
    if computation is None or len(dims) != 1:
        raise Refused("its computation, or its dimension, is none")
    if len(at.operands) > 1 and at.each.attrs.get("is_stable", "false") != "true":
        raise Refused("of equal elements it is open which comes first")
    made = _several(at, "hlo.sort", dim=dims[0], descending=_descending(computation))
    return made if isinstance(at.each.shape, Tuple) else made[0]


def _several(at: At, op: str, **attrs: object) -> tuple[Made, ...]:
    """A node of this instruction for all arrays that it makes."""
    shapes = at.each.shape.parts if isinstance(at.each.shape, Tuple) else (at.each.shape,)
    known = [each for each in shapes if isinstance(each, Array) and each.dtype in DTYPES]
    values = [Value(each.dims, DTYPES[each.dtype]) for each in known]
    if len(values) < len(shapes):
        raise Refused("what it makes has a type without a meaning here")
    made = at.recording.emit_several(op, at.operands, values, named(at.each), attrs)
    of = [at.recording.span(operand) for operand in at.operands]
    spans = of if op == "hlo.sort" else [of[0], (0, at.operands[0].shape[-1] - 1)]
    return tuple(at.recording.given(*pair) for pair in zip(made, spans, strict=True))


def _descending(computation: Computation) -> bool:
    """Whether a comparison of two elements of the first array puts the greatest first. Raises Refused."""
    known = {each.name: each for each in computation.instructions}
    root = computation.root
    sides = tuple(_element(known, name) for name in root.operands)
    found = DESCENDING.get(root.attrs.get("direction", ""))
    if root.opcode != "compare" or found is None or sides not in (("0", "1"), ("1", "0")):
        raise Refused("it is not put in the order of one array by < or >")
    return found if sides == ("0", "1") else not found


def _element(known: dict[str, Instruction], name: str) -> str:
    """The number of the parameter that a value is, but for -0 and what is no number, which jax tells apart."""
    each = known[name]
    if each.opcode == "parameter":
        return each.literal
    if each.opcode != "select":
        return ""
    asked, one, other = (known[operand] for operand in each.operands)
    found = _element(known, other.name)
    of = [_element(known, operand) or known[operand].literal for operand in asked.operands]
    is_zero = asked.attrs.get("direction") == "EQ" and of == [found, "0"] and one.literal == "0"
    is_none = asked.attrs.get("direction") == "NE" and of == [found, found] and one.literal == "nan"
    same = asked.opcode == "compare" and one.opcode == "constant" and (is_zero or is_none)
    return found if same else ""
