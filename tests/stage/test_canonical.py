"""Stages name no tensor, no rank and no layer: renaming either plan asks the same questions."""

import random
from dataclasses import replace

import pytest

from tests.builders import answer, attrs_of, mlp, with_attrs
from tests.plans import delayed, sequence_parallel, tied
from verdict.graph import ABSENT
from verdict.lineage import bind, propagate, reference
from verdict.stage import cut


def questions(single, parallel):
    binding = bind(single, parallel)
    walk = propagate(reference(single, parallel.columns, binding.batch), parallel, binding)
    return cut([walk]).questions


def renumbered(plan, seed):
    """The same plan with its tensors and logical tensors in another order."""
    order, tables = random.Random(seed), []
    for count in (len(plan.tensors), len(plan.logicals)):
        new = list(range(count))
        order.shuffle(new)
        tables.append(new)
    tensors, logicals = tables

    def to(tensor):
        return tensor if tensor == ABSENT else tensors[tensor]

    def held(item):
        return item._replace(tensor=to(item.tensor), weight=to(item.weight))

    def back(table, items):
        return tuple(item for _, item in sorted(zip(table, items, strict=True), key=lambda pair: pair[0]))

    moved = [t._replace(logical=logicals[t.logical]) for t in plan.tensors]
    return replace(
        plan,
        tensors=back(tensors, moved),
        logicals=back(logicals, plan.logicals),
        segments=tuple(
            s._replace(
                nodes=tuple(
                    n._replace(inputs=tuple(map(to, n.inputs)), outputs=tuple(map(to, n.outputs))) for n in s.nodes
                )
            )
            for s in plan.segments
        ),
        losses=tuple(map(held, plan.losses)),
        gradients=tuple(map(held, plan.gradients)),
        seeds=tuple(map(to, plan.seeds)),
    )


def renamed(plan, mark):
    """The same plan with other names of everything that is not given."""
    given = ("input", "weight", "buffer")
    logicals = tuple(
        x if x.kind in given else x._replace(name=x.name + mark, origin=f"{x.origin}{mark}") for x in plan.logicals
    )
    return replace(plan, logicals=logicals)


def ranks_turned(plan):
    """The same plan with every rank called by the number of the one opposite."""

    def to(device):
        return plan.devices - 1 - device

    def node(n):
        attrs = attrs_of(n)
        changed = {name: to(attrs[name]) for name in ("peer", "root") if name in attrs}
        if "ranks" in attrs:
            changed["ranks"] = tuple(to(rank) for rank in attrs["ranks"])
        return with_attrs(n, **changed) if changed else n

    segments = tuple(s._replace(device=to(s.device), nodes=tuple(map(node, s.nodes))) for s in plan.segments)
    return replace(
        plan,
        segments=segments,
        programs=tuple(reversed(plan.programs)),
        losses=tuple(h._replace(device=to(h.device)) for h in plan.losses),
        gradients=tuple(h._replace(device=to(h.device)) for h in plan.gradients),
    )


PLANS = {
    "mlp": (mlp, {"dp": 2, "tp": 2, "pp": 2, "nm": 2}),
    "sequence": (sequence_parallel, {"tp": 2}),
    "tied": (tied, {"pp": 2, "tp": 2}),
}


@pytest.mark.parametrize(("make", "sizes"), PLANS.values(), ids=PLANS)
def test_renaming_asks_the_same_questions(make, sizes):
    single, parallel = make(), make(**sizes)
    asked = questions(single, parallel)
    assert len(asked) > 5
    for same in (renumbered(parallel, 1), renamed(parallel, "'"), ranks_turned(parallel)):
        assert same != parallel
        assert set(questions(single, same)) == set(asked)
        assert answer(single, same) == "PROVED"
    assert questions(renumbered(renamed(single, "''"), 2), parallel) == asked


def test_replicas_and_microbatches_ask_no_new_questions():
    few, many = (len(questions(mlp(), mlp(dp=dp, nm=nm))) for dp, nm in ((2, 1), (4, 2)))
    assert few == many


def test_other_attributes_ask_other_questions():
    def asked(factor):
        return set(questions(delayed("mul", other=factor), delayed("mul", 2, other=factor)))

    assert asked(2.0) == asked(2.0) != asked(3.0)
