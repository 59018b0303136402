"""Faults of what replicas divide: shards that are not gathered, not added up, or lie along another axis."""

from dataclasses import replace
from random import Random

from verdict.graph import Node, Plan
from verdict.graph.lockstep import CHUNK, attribute
from verdict.mutate.sites import Change, change_each, named, pick, with_attrs


def repeat_shard(plan: Plan, random: Random) -> Change | None:
    """A gather over replicas is lost: each has its own shard as often as there are replicas."""

    def change(node: Node) -> Node:
        return node._replace(
            op="concatenate", inputs=node.inputs * plan.replicas, attrs=(("dim", attribute(node, "dim")),)
        )

    site = pick(plan, random, lambda node: node.op == "all_gather" and _over_replicas(node))
    return None if site is None else (change_each(plan, (site,), change), f"no gather in {named(plan, site)}")


def keep_own_sum(plan: Plan, random: Random) -> Change | None:
    """Replicas take their shards of what each has alone, in place of the sum."""
    site = pick(plan, random, lambda node: node.op == "reduce_scatter" and _over_replicas(node))
    return None if site is None else (change_each(plan, (site,), _chunk), f"no sum in {named(plan, site)}")


def sum_shards(plan: Plan, random: Random) -> Change | None:
    """Replicas add up what each of them has whole."""
    site = pick(plan, random, lambda node: node.op == CHUNK and _over_replicas(node))
    if site is None:
        return None
    changed = change_each(plan, (site,), lambda node: with_attrs(node._replace(op="reduce_scatter"), reduce="sum"))
    return changed, f"a sum in {named(plan, site)}"


def change_shard_axis(plan: Plan, random: Random) -> Change | None:
    """Replicas are said to divide a tensor along another axis, or not at all."""
    if not plan.shard_axes:
        return None
    name, axis = random.choice(plan.shard_axes)
    dims = next(len(logical.shape) for logical in plan.logicals if logical.name == name)
    other = random.choice([None, *(dim for dim in range(dims) if dim != axis)])
    axes = dict(plan.shard_axes)
    del axes[name]
    if other is not None:
        axes[name] = other
    return replace(plan, shard_axes=tuple(axes.items())), f"{name} is divided along {other} and not {axis}"


def _chunk(node: Node) -> Node:
    return node._replace(op=CHUNK, attrs=tuple(pair for pair in node.attrs if pair[0] != "reduce"))


def _over_replicas(node: Node) -> bool:
    return bool(attribute(node, "replicas")) and attribute(node, "dim") is not None
