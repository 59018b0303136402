"""The kinds of faults, and mutants: a plan with one fault of a kind, from a seed."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from verdict.errors import UsageError
from verdict.graph import Plan
from verdict.mutate import collectives, content, nodes, programs, shards, updates
from verdict.mutate.sites import Change
from verdict.words import known_text

Kind = Callable[[Plan, Random], Change | None]
"""A plan with one fault and what it is; None where the plan has no place for such a fault."""
TRIES = 8
"""How often a kind is tried until it changes something."""

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.__name__.replace("_", "-"): kind
        for kind in (
            collectives.drop_collective,
            collectives.remove_communication,
            collectives.duplicate_collective,
            collectives.exchange_communication,
            collectives.regroup,
            collectives.permute_ranks,
            collectives.retarget_peer,
            collectives.cross_messages,
            collectives.cross_peers,
            collectives.change_root,
            collectives.change_collective,
            collectives.change_reduction,
            collectives.change_collective_axis,
            collectives.toggle_replicas,
            nodes.remove_node,
            nodes.skip_node,
            nodes.duplicate_node,
            nodes.move_node,
            nodes.rewire_input,
            nodes.exchange_inputs,
            nodes.rewire_output,
            nodes.exchange_outputs,
            nodes.drop_input,
            nodes.repeat_input,
            nodes.change_operator,
            programs.drop_call,
            programs.duplicate_call,
            programs.exchange_calls,
            programs.change_microbatch,
            programs.exchange_microbatches,
            programs.cross_microbatch,
            programs.early_reduction,
            programs.drop_reduction,
            programs.exchange_reductions,
            programs.drop_output,
            programs.exchange_declared,
            programs.exchange_input_slices,
            content.change_constant,
            content.change_axis,
            content.change_interval,
            content.change_flag,
            content.drop_attribute,
            content.change_dtype,
            content.change_shape,
            content.change_region,
            content.change_slice,
            content.exchange_weights,
            content.exchange_slices,
            content.exchange_holdings,
            content.exchange_tensors,
            content.change_kind,
            content.change_seed,
            content.change_part,
            content.change_replicas,
            shards.repeat_shard,
            shards.keep_own_sum,
            shards.sum_shards,
            shards.change_shard_axis,
            updates.declare_stale,
            updates.drop_updated,
            updates.repeat_updated,
            updates.exchange_updated,
            updates.read_stale,
            updates.skip_update,
            updates.change_rate,
            updates.keep_gradients,
        )
    }
)
"""Every kind of fault by name; a new one is a function and a line."""


class Mutant(NamedTuple):
    """A plan with one fault. number: with the seed and the kind, it names the mutant."""

    kind: str
    number: int
    description: str
    plan: Plan


def mutate(plan: Plan, seed: int, count: int, kinds: Sequence[str] = ()) -> tuple[Mutant, ...]:
    """Up to `count` mutants of `plan`, the kinds in turn (all by default). Equal seeds give equal mutants.

    Raises UsageError for a kind that does not exist.
    """
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise UsageError("--kinds", f"there is no kind {unknown[0]}", known_text(unknown[0], list(KINDS)))
    remaining = list(kinds or KINDS)
    found: list[Mutant] = []
    number = 0
    while remaining and len(found) < count:
        for kind in tuple(remaining):
            if len(found) == count:
                break
            mutant = mutant_of(plan, seed, kind, number)
            if mutant is None:
                remaining.remove(kind)
            else:
                found.append(mutant)
        number += 1
    return tuple(found)


def mutant_of(plan: Plan, seed: int, kind: str, number: int) -> Mutant | None:
    """The mutant of this seed, kind and number; None where the plan has no place for such a fault."""
    random = Random(f"{seed}/{kind}/{number}")
    for _ in range(TRIES):
        change = KINDS[kind](plan, random)
        if change is not None and change[0] != plan:
            return Mutant(kind, number, change[1], change[0])
    return None
