"""One node on all replicas, where each reads a piece of its own: the members on some of them stand for all.

Allowed is what an index axis of the operator maps plainly: every tensor that has the axis has it as one dimension by
itself, and the operator works index by index along it, or sums over it. Then what replica r reads and claims is what
replica 0 does, r strides further on. The first, a middle and the last replica are members with obligations of their
own; the pattern of cuts of all others is that of the middle one.
"""

from verdict.graph import Attrs
from verdict.lineage.holdings import Holdings
from verdict.lineage.meaning import Meaning
from verdict.lineage.shards import Stated, at_replica
from verdict.lineage.transfer import Claim, Misfit, Replicas
from verdict.lineage.values import WHOLE, Mark, Shard, Value
from verdict.ops import Law

FEW = 4
"""Up to so many replicas all are members."""


def value_mark(value: Value, of_part: bool = False) -> Mark:
    """How the region of a value goes on from replica to replica, or its part."""
    mark = value[0].shard if value else WHOLE
    return mark if isinstance(mark, Shard) and (mark.label is not None) == of_part else WHOLE


def of_each_replica(
    holdings: Holdings, meaning: Meaning, attrs: Attrs, values: tuple[Value, ...], wanted: tuple[bool, ...]
) -> Replicas | Misfit:
    """The members of a node that reads pieces of which each replica has its own; why there are none."""
    read = tuple(Stated(value[0].region, value[0].shard) if value else None for value in values)
    key = (id(meaning), id(attrs), read, wanted)
    if key not in holdings.replicated:
        holdings.replicated[key] = _members(holdings, meaning, attrs, read, wanted)
    return holdings.replicated[key]


def _members(
    holdings: Holdings, meaning: Meaning, attrs: Attrs, read: tuple[Stated | None, ...], wanted: tuple[bool, ...]
) -> Replicas | Misfit:
    if meaning.problem:
        return Misfit(meaning.problem, wrong=False)
    going_on = _going_on(meaning, attrs, read)
    if isinstance(going_on, Misfit):
        return going_on
    atom, stride = going_on
    numbers: list[int] = []
    claims: list[tuple[Claim | None, ...]] = []
    places = _places(holdings.plan.replicas, holdings.every)
    for replica in places:
        regions = tuple(at_replica(of, replica) if of else None for of in read)
        found = holdings.transfer(meaning, attrs, regions, wanted)
        if isinstance(found, Misfit):
            return found._replace(text=f"on replica {replica}: {found.text}")
        numbers.append(found[0])
        claims.append(found[1].claims)
    replicas = Replicas(tuple(dict.fromkeys(numbers)), claims[0], atom, stride)
    due = [[_moved(replicas, k, meaning, replica) for k in range(len(claims[0]))] for replica in places]
    if [list(claim) for claim in claims] != due:
        return Misfit("what the replicas make of their pieces does not go on as the pieces do", wrong=False)
    return replicas


def _going_on(meaning: Meaning, attrs: Attrs, read: tuple[Stated | None, ...]) -> tuple[str, int] | Misfit:
    """The index axis along which replicas have pieces of their own, and by how much; why it is none."""
    found: set[tuple[str, int]] = set()
    for position, of in enumerate(read):
        mark = of.shard if of else WHOLE
        if not isinstance(mark, Shard):
            continue
        if mark.label is not None:
            return Misfit("it reads parts of a sum of which each replica has its own", wrong=False)
        dim = meaning.read[position][mark.axis]
        if len(dim) != 1:
            return Misfit(f"replicas have pieces of input {position} along no single index axis", wrong=False)
        found.add((dim[0], mark.stride))
    if len(found) != 1:
        return Misfit("replicas have pieces of its inputs along several index axes", wrong=False)
    ((atom, stride),) = found
    laws = {known.name: known.law for known in meaning.axes.atoms} if meaning.axes else {}
    if laws.get(atom) not in (Law.EACH, Law.SUM) or atom == meaning.column_atom:
        return Misfit(f"replicas have pieces along index axis {atom}, along which it computes", wrong=False)
    if any(atom in dim and dim != (atom,) for dims in (*meaning.read, *meaning.written) for dim in dims):
        return Misfit(f"replicas have pieces along index axis {atom}, a part of a dimension only", wrong=False)
    if any(dims.count((atom,)) > 1 for dims in (*meaning.read, *meaning.written)):
        return Misfit(f"replicas have pieces along index axis {atom}, two dimensions of one tensor", wrong=False)
    if meaning.rule is None or any(
        atom in meaning.rule.cuts(dict(known)) for known in (attrs, meaning.signature.attrs)
    ):
        return Misfit(f"replicas have pieces along index axis {atom}, of which its attributes speak", wrong=False)
    return atom, stride


def _places(replicas: int, every: bool) -> tuple[int, ...]:
    """The replicas whose members stand for all."""
    return tuple(range(replicas)) if every or replicas <= FEW else (0, replicas // 2, replicas - 1)


def _moved(replicas: Replicas, output: int, meaning: Meaning, replica: int) -> Claim | None:
    """What a replica must claim of an output: what replica 0 does, further on."""
    claim, mark = replicas.claims[output], replicas.mark(output, 0, meaning)
    if claim is None or not isinstance(mark, Shard):
        return claim
    if mark.label is None:
        return claim._replace(region=at_replica(Stated(claim.region, mark), replica))
    by = replica * mark.stride
    moved = (
        (a, (start + by, stop + by)) if a == replicas.atom else (a, (start, stop)) for a, (start, stop) in claim.part
    )
    return claim._replace(part=tuple(moved))
