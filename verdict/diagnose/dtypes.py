"""Number formats that differ between the two sides. Over the reals they change nothing: notes beside the verdict."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from verdict.diagnose.modules import modules_of
from verdict.graph import Place, Plan
from verdict.lineage import Evidence, Lineages
from verdict.outcome import Finding
from verdict.words import ranks_text


class _Difference(NamedTuple):
    """op: of the node. expected, found: the two formats. what: of what they are."""

    op: str
    what: str
    expected: str
    found: str


def dtype_notes(parallel: Plan, walks: Sequence[Lineages]) -> tuple[Finding, ...]:
    """One note for each way in which formats differ: of casts and other operators, and of the tensors they write."""
    found: dict[_Difference, list[tuple[int, Place]]] = {}
    for walk in walks[:1]:
        for difference, partner, place in (*_of_attributes(walk), *_of_tensors(parallel, walk)):
            found.setdefault(difference, []).append((partner, place))
    if not found:
        return ()
    modules = modules_of(walks[0].reference)
    return tuple(
        _note(difference, places, tuple(dict.fromkeys(modules.names[k] for k, _ in places if modules.names[k])))
        for difference, places in found.items()
    )


def _of_attributes(walk: Lineages) -> Iterator[tuple[_Difference, int, Place]]:
    for partner, members in walk.members.items():
        signature = walk.reference.partners[partner].signature
        due = dict(signature.attrs).get("dtype")
        for number, places in members.items():
            own = dict(walk.distinct[number].attrs).get("dtype")
            if own != due:
                difference = _Difference(signature.op, "attribute dtype", str(due), str(own))
                yield from ((difference, partner, place) for place in places)


def _of_tensors(parallel: Plan, walk: Lineages) -> Iterator[tuple[_Difference, int, Place]]:
    """Tensors that hold shares of values of another format."""
    dtypes = [logical.dtype for logical in parallel.logicals]
    for device, held in enumerate(walk.held):
        for tensor, value in held.items():
            if not value:
                continue
            base = walk.reference.bases[value[0].base]
            dtype = dtypes[parallel.tensors[tensor].logical]
            if dtype != base.dtype and base.node >= 0:
                op = walk.reference.partners[base.node].signature.op
                place = Place(device, 0, parallel.logicals[parallel.tensors[tensor].logical].name, op)
                yield _Difference(op, "dtype of the result", base.dtype, dtype), base.node, place


def _note(difference: _Difference, places: Sequence[tuple[int, Place]], modules: tuple[str, ...]) -> Finding:
    first = places[0][1]
    ranks = tuple(sorted({place.device for _, place in places}))
    title = f"{difference.op}: {difference.what} is {difference.found}, expected {difference.expected}"
    return Finding(
        "dtype-differs",
        f"{title}, on {ranks_text(ranks)}",
        first.spelled,
        extent=len(places),
        evidence=Evidence(tuple(place for _, place in places), (), partner=places[0][0]),
        ranks=ranks,
        modules=modules,
        kind=difference,
    )
