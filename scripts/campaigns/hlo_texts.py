"""Faults put into the text of a partitioned module, one each, and what the oracle says of them."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from verdict.backends.hlo.pair import parallel_of, single_of
from verdict.backends.hlo.text import read_module
from verdict.comparison import AGREE, CANNOT
from verdict.concrete.comparison import MOST_WORK
from verdict.concrete.engine import own_engine
from verdict.errors import VerdictError
from verdict.graph import Plan
from verdict.options import Options
from verdict.pipeline import verify

SEEDS = (1, 2, 3)
DIFFERS, AGREES, NOT_RUN = "differs", "agrees", "not run"
_REDUCE = re.compile(r"all-reduce\((%[\w.\-]+)\)[^\n]*?(?=, metadata|\n)")
_GROUPS = re.compile(
    r"replica_groups=(mesh\[[^\]]*\] \{[^}]*\}|\[[\d,]+\]<=\[[\d,]+\](?:T\([\d,]+\))?|\{\{[\d,{}]*\}\})"
)
_TABLE = re.compile(r"= [su]32\[\d+\]\{0\} constant\(\{([\d, ]+)\}\)")
_SCALAR = re.compile(r"= f32\[\] constant\((-?\d[\d.e\-+]*)\)")
_REDUCER = re.compile(r"ROOT (%[\w.\-]+) = (f32\[\]) (add|maximum)\(")
_PAIRS = re.compile(r"source_target_pairs=\{\{(.*?)\}\}")
_ORDER = re.compile(r" (subtract|divide)\((%[\w.\-]+), (%[\w.\-]+)\)")
_CHOICE = re.compile(r" select\((%[\w.\-]+), (%[\w.\-]+), (%[\w.\-]+)\)")
_DIRECTION = re.compile(r"direction=(LT|LE|GT|GE|EQ|NE)")
_CONTRACTED = re.compile(r"rhs_contracting_dims=\{([01])\}")
_SLICE = re.compile(r"slice=\{\[(\d+):(\d+)\]")
_TURNED = re.compile(r" transpose\((%[\w.\-]+)\), dimensions=\{1,0\}")
OPPOSITE = {"LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT", "EQ": "NE", "NE": "EQ"}


class Mutant(NamedTuple):
    """A text with one fault."""

    kind: str
    place: int
    text: str


class Answer(NamedTuple):
    """What the oracle and what Verdict say of a mutant."""

    truth: str
    verdict: str


def mutants(text: str, devices: int) -> Iterator[Mutant]:
    """All faults of the kinds that are known here, each at every place where it fits."""
    half = devices // 2
    rows = ",".join("{" + ",".join(map(str, range(k, k + half))) + "}" for k in (0, half))
    pairs = ",".join(f"{{{k},{k + half}}}" for k in range(half))
    kinds = (
        ("all-reduce dropped", _REDUCE, lambda m: f"copy({m[1]})"),
        ("groups of neighbours", _GROUPS, lambda m: f"replica_groups={{{rows}}}"),
        ("groups of two", _GROUPS, lambda m: f"replica_groups={{{pairs}}}"),
        ("table turned", _TABLE, lambda m: _with(m, ", ".join(_turned(m[1].split(", "))))),
        ("table moved", _TABLE, lambda m: _with(m, ", ".join([*m[1].split(", ")[:-1], m[1].split(", ")[0]]))),
        ("scale", _SCALAR, lambda m: _with(m, repr(float(m[1]) * 2 + (float(m[1]) == 0)))),
        ("reducer", _REDUCER, lambda m: f"ROOT {m[1]} = {m[2]} {'maximum' if m[3] == 'add' else 'add'}("),
        ("permutation", _PAIRS, lambda m: _with(m, _received(m[1]))),
        ("operands", _ORDER, lambda m: f" {m[1]}({m[3]}, {m[2]})"),
        ("choice", _CHOICE, lambda m: f" select({m[1]}, {m[3]}, {m[2]})"),
        ("mask", _DIRECTION, lambda m: f"direction={OPPOSITE[m[1]]}"),
        ("contraction", _CONTRACTED, lambda m: f"rhs_contracting_dims={{{1 - int(m[1])}}}"),
        ("slice", _SLICE, lambda m: f"slice={{[{int(m[1]) + 1}:{int(m[2]) + 1}]"),
        ("transpose", _TURNED, lambda m: f" copy({m[1]})"),
    )
    for kind, pattern, change in kinds:
        for place, match in enumerate(pattern.finditer(text)):
            made = text[: match.start()] + change(match) + text[match.end() :]
            if made != text:
                yield Mutant(kind, place, made)


def _with(match: re.Match[str], text: str) -> str:
    """The match with another text in its group."""
    start = match.start()
    return match[0][: match.start(1) - start] + text + match[0][match.end(1) - start :]


def _turned(words: Sequence[str]) -> Sequence[str]:
    return [*words[1:], words[0]]


def _received(pairs: str) -> str:
    """The pairs, each message received by who receives the next one."""
    rows = [pair.split(",") for pair in pairs.split("},{")]
    targets = _turned([target for _, target in rows])
    return "},{".join(f"{source},{target}" for (source, _), target in zip(rows, targets, strict=True))


def ask(before: str, mutant: str) -> Answer | None:
    """What is said of a mutant; None where it is no module that fits."""
    try:
        one, other = read_module(before, "before"), read_module(mutant, "after")
        single, parallel = single_of(one, other), parallel_of(one, other)
        return Answer(_truth(single, parallel), verify(single, parallel, Options()).verdict.name)
    except VerdictError:
        return None


def _truth(single: Plan, parallel: Plan) -> str:
    found = {own_engine().compare(single, parallel, seed, MOST_WORK).outcome for seed in SEEDS}
    if CANNOT in found:
        return NOT_RUN
    return AGREES if found == {AGREE} else DIFFERS
