"""The ends of a sweep: every declared output of the parallel plan must be the elements of the single-device one."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from verdict.graph import Plan
from verdict.ops.granted import Called, Granted, granted
from verdict.ops.normed import between_of
from verdict.semantics import itself
from verdict.sweep.claim import Claim
from verdict.sweep.compare import partner
from verdict.sweep.flow import Flow, Result
from verdict.sweep.follow import Stated, present
from verdict.sweep.results import LOSS
from verdict.sweep.trace import Traces


@dataclass(frozen=True, slots=True)
class Ends:
    """claims: one for each declared output that does not consist of the right elements already. compared: the numbers
    of the results that have a partner.
    """

    results: tuple[Result, ...]
    claims: tuple[Claim, ...]
    compared: frozenset[int]

    def where(self, claim: Claim) -> str:
        """The output that a claim is about."""
        result = self.results[-1 - claim.step]
        return f"{result.what} {result.where}"

    def established(self, refused: Iterable[Claim]) -> frozenset[int]:
        """The places in `Plan.declared` of the outputs that hold what they must on every rank, if these claims, and no
        others, have no proof. A step whose claim has none leaves all open.
        """
        unproved = [claim.step for claim in refused]
        if any(step >= 0 for step in unproved):
            return frozenset()
        right = self.compared - {-1 - step for step in unproved}
        wrong = {place for k, result in enumerate(self.results) if k not in right for place in result.declared}
        return frozenset(place for k in right for place in self.results[k].declared) - wrong


def ends_of(traces: Traces) -> Ends:
    """What is left to prove of the declared outputs. The claim of result k has step -1 - k."""
    single, parallel = traces.single, traces.parallel
    claims, compared = [], set()
    for number, result in enumerate(parallel.flow.results):
        other = partner(single.flow, result)
        if other is None:
            continue
        compared.add(number)
        due, held = present(single, other.value), present(parallel, result.value)
        due = due[result.region] if due.ndim == len(result.region) else due
        apart = np.flatnonzero(due.ravel() != held.ravel())
        if apart.size:
            claims.append(Claim(held.ravel()[apart], due.ravel()[apart], -1 - number, 0))
    return Ends(parallel.flow.results, tuple(claims), frozenset(compared))


def doubtful_ends(flows: tuple[Flow, Flow], single: Plan) -> frozenset[int]:
    """The steps of the claims of results that must be no numbers at the same inputs: those that the plan names so."""
    names = [single.logicals[single.tensors[held.tensor].logical].name for held in single.declared]
    places = {place for place, name in enumerate(names) if name in single.doubtful}
    keys = {result.key for result in flows[0].results if not places.isdisjoint(result.declared)}
    partners = [partner(flows[0], result) for result in flows[1].results]
    return frozenset(-1 - k for k, other in enumerate(partners) if other is not None and other.key in keys)


def stated(flow: Flow, single: Plan) -> Stated:
    """What the single-device plan says of its values."""
    plain = {name for name, low, _ in single.ranges if low >= 0}
    logicals = {k: single.logicals[k].name for k in itself(single).logical}
    doubtful = frozenset(k for k, name in logicals.items() if name in single.doubtful)
    unsigned = frozenset(k for k, name in logicals.items() if name in plain)
    positive = frozenset(k for k, name in logicals.items() if name in single.positive)
    return Stated(doubtful, unsigned, positive, *_granted(flow, single))


def _granted(flow: Flow, single: Plan) -> Granted:
    """The steps that divide by zero nowhere where all losses are numbers, and the values that count something then."""
    named = set(single.granted)
    losses = [result.value for result in flow.results if result.key[0] == LOSS]
    calls = [Called(step.op, step.attrs, step.inputs, step.outputs, step.grads) for step in flow.steps]
    said = [number for number, step in enumerate(flow.steps) if step.place.name in named]
    names = {k: single.logicals[k].name for k in itself(single).logical}
    given = ((item.value, names[item.logical]) for item in flow.given)
    return granted(calls, losses, between_of(single, given), said)
