"""Reading the program of a family of devices: segments of nodes, calls and outputs; then one copy for each device."""

from collections import defaultdict
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

from verdict.backends.text.tables import Share, Tables, lead, logical_of, view
from verdict.backends.text.values import Family, Varied, gather, listed, ordinals, value
from verdict.backends.text.words import Line, label
from verdict.graph import ABSENT, Node, Shape, Tensor
from verdict.graph.misfit import CALL, GRADIENT_OF, LOSS, NODE, OUTPUT, SEED, STORAGE, TENSOR


class Program:
    """The text of one family while it is read. Tensors and segments are numbered within the family.

    lines: for each kind of thing that stands in a family, the line of each of them; nodes are those of all segments.
    """

    def __init__(self, family: Family, tables: Tables, line: int) -> None:
        self.family = family
        self.line = line
        self.tables = tables
        self.shares: list[Share] = []
        self.segments: list[tuple[Any, list[tuple[Any, ...]]]] = []
        self.calls: list[tuple[int, int, tuple[tuple[int, int], ...]]] = []
        self.losses: list[tuple[int, int]] = []
        self.gradients: list[tuple[int, int]] = []
        self.outputs: list[tuple[int, int]] = []
        self.seeds: list[int] = []
        self.storages: list[tuple[str, tuple[int, ...]]] = []
        self.nodes = 0
        self.lines: dict[str, list[int]] = defaultdict(list)
        self._labels: dict[str, int] = {}
        self._views: dict[tuple[Shape, tuple[str, ...]], tuple[Any, Any]] = {}
        self._known_attrs: dict[tuple[str, ...], Any] = {}
        self._segment_labels: dict[tuple[str, int], int] = {}

    @cached_property
    def lines_of_nodes(self) -> tuple[tuple[int, ...], ...]:
        """For each segment the lines of its nodes. To be asked when all of the family is read."""
        lines = iter(self.lines[NODE])
        return tuple(tuple(islice(lines, len(nodes))) for _, nodes in self.segments)

    def segment(self, line: Line) -> None:
        """`segment NAME`: what follows indented are its nodes. `<"a" | "b">` gives each device's name for it."""
        name, ordinal, _ = line.label("the name of a segment")
        names: Any = name if line.peek() != "<" else Varied(listed(line, self.family, lambda: line.name("a name")))
        line.end()
        if (name, ordinal) in self._segment_labels:
            line.fail(f"there is a segment {label(name, ordinal)} already", f"call it {label(name, ordinal + 1)}")
        self._segment_labels[name, ordinal] = len(self.segments)
        self.segments.append((names, []))

    def node(self, line: Line) -> None:
        """`outputs = op(inputs) attribute=value ... : name`, in the segment that was opened last."""
        tokens = line.tokens
        outputs: list[int] = []
        if tokens[1] != "(":
            outputs.append(self._mention_or_absent(line))
            while line.skip(","):
                outputs.append(self._mention_or_absent(line))
            line.expect("=")
        op = line.name("an operator")
        line.expect("(")
        inputs: list[int] = []
        while not line.skip(")"):
            inputs.append(self._mention_or_absent(line))
            if tokens[line.at] != ")":
                line.expect(",")
        attrs = self._attrs(line)
        name = line.name("the name of the node") if line.skip(":") else self._default_name(outputs, inputs)
        line.end()
        self.nodes += 1
        self._stands(NODE, line, 1 + len(attrs.values[0] if isinstance(attrs, Varied) else attrs))
        self.segments[-1][1].append((op, inputs, outputs, attrs, name))

    def _default_name(self, outputs: list[int], inputs: list[int]) -> str:
        share = next((self.shares[at] for at in (*outputs, *inputs) if at != ABSENT), None)
        return self.tables.logicals[lead(share[0])].name if share else ""

    def call(self, line: Line) -> None:
        """`call SEGMENT MICROBATCH [tensor@microbatch ...]`, or `once` for the microbatch."""
        name, ordinal, _ = line.label("the name of a segment")
        segment = self._segment_labels.get((name, ordinal))
        if segment is None:
            line.fail(f"there is no segment {label(name, ordinal)} in this family")
        microbatch = -1 if line.skip("once") else line.integer("a microbatch or once")
        crossed = []
        while line.peek():
            tensor = self.mention(line)
            line.expect("@")
            crossed.append((tensor, -1 if line.skip("once") else line.integer("a microbatch or once")))
        self._stands(CALL, line)
        self.calls.append((segment, microbatch, tuple(crossed)))

    def loss(self, line: Line) -> None:
        """`loss TENSOR [of WEIGHT]`."""
        self._stands(LOSS, line)
        self.losses.append(self._held(line))

    def gradient(self, line: Line) -> None:
        """`gradient TENSOR [of WEIGHT]`."""
        self._stands(GRADIENT_OF, line)
        self.gradients.append(self._held(line))

    def output(self, line: Line) -> None:
        """`output TENSOR [of WEIGHT_OR_BUFFER]`."""
        self._stands(OUTPUT, line)
        self.outputs.append(self._held(line))

    def seed(self, line: Line) -> None:
        """`seed TENSOR`."""
        self._stands(SEED, line)
        self.seeds.append(self.mention(line))
        line.end()

    def storage(self, line: Line) -> None:
        """`storage NAME: TENSOR, TENSOR ...`."""
        name = line.name("the name of a storage")
        line.expect(":")
        tensors = [self.mention(line)]
        while line.skip(","):
            tensors.append(self.mention(line))
        line.end()
        self._stands(STORAGE, line)
        self.storages.append((name, tuple(tensors)))

    def _stands(self, kind: str, line: Line, instances: int = 1) -> None:
        """Remember where a thing of this kind stands, of which each device has so many `instances`."""
        self.lines[kind].append(line.number)
        self.tables.count(instances * len(self.family.devices), line)

    def _held(self, line: Line) -> tuple[int, int]:
        tensor = self.mention(line)
        weight = self.mention(line) if line.skip("of") else ABSENT
        line.end()
        return tensor, weight

    def _mention_or_absent(self, line: Line) -> int:
        return ABSENT if line.skip("-") else self.mention(line)

    def mention(self, line: Line) -> int:
        """A tensor of the family. Where it is mentioned first, its region and part follow if they are not the whole."""
        token = line.tokens[line.at]
        known = self._labels.get(token)
        if known is None:
            return self._first_mention(line)
        line.at += 1
        if line.tokens[line.at] in ("[", "{"):
            found = self._view(line, self.shares[known][0])
            if found != self.shares[known]:
                line.fail(f"{token} has another region or part here than where it is mentioned first")
        return known

    def _first_mention(self, line: Line) -> int:
        token = line.peek()
        name, ordinal, version = line.label("a tensor")
        spelled = label(name, ordinal, version)
        if spelled != token and spelled in self._labels:
            self._labels[token] = self._labels[spelled]
            line.at -= 1
            return self.mention(line)
        logical: Any = logical_of(line, self.tables, name, ordinal)
        if line.peek() == "<":
            logical = self._logicals(line, name)
        share = self._view(line, logical)
        self._stands(TENSOR, line)
        self._labels[token] = self._labels[spelled] = len(self.shares)
        self.shares.append(share)
        return len(self.shares) - 1

    def _logicals(self, line: Line, name: str) -> Varied:
        """`<...>` behind a tensor: which of the logical tensors of that name each device has."""
        found = [logical_of(line, self.tables, name, ordinal) for ordinal in ordinals(line, self.family)]
        if len({self.tables.logicals[logical].shape for logical in found}) > 1:
            line.fail(f"the tensors {name} of these devices differ in shape", "write a family for each device")
        return Varied(tuple(found))

    def _view(self, line: Line, logical: Any) -> Share:
        """A share of a tensor, as it follows. Of tensors of one shape the same words, read once, say the same."""
        words = line.bracketed()
        key = (self.tables.logicals[lead(logical)].shape, words)
        known = self._views.get(key)
        if known is None:
            _, *found = view(line, self.family, self.tables, logical)
            known = self._views[key] = found[0], found[1]
        else:
            line.at += len(words)
        return (logical, *known)

    def _attrs(self, line: Line) -> Any:
        """The attributes that follow. The same words say the same of all nodes: they are read once."""
        words = line.before(":")
        known = self._known_attrs.get(words)
        if known is None:
            known = self._known_attrs[words] = self._new_attrs(line)
        else:
            line.at += len(words)
        return known

    def _new_attrs(self, line: Line) -> Any:
        tokens = line.tokens
        found: list[tuple[str, Any]] = []
        while tokens[line.at] not in ("", ":"):
            key = line.name("an attribute or the end of the line")
            line.expect("=")
            found.append((key, value(line, self.family)))
        found.sort(key=lambda pair: pair[0])
        for (left, _), (right, _) in pairwise(found):
            if left == right:
                line.fail(f"attribute {left} is given twice")
        pairs = gather([gather(pair, len(self.family.devices)) for pair in found], len(self.family.devices))
        one = self.tables.one
        return Varied(tuple(map(one, pairs.values))) if isinstance(pairs, Varied) else one(pairs)

    def tensors_of(self, position: int) -> list[Tensor]:
        """The tensors of the family's device number `position`."""
        return [
            Tensor(
                logical.values[position] if isinstance(logical, Varied) else logical,
                region.values[position] if isinstance(region, Varied) else region,
                part.values[position] if isinstance(part, Varied) else part,
            )
            for logical, region, part in self.shares
        ]

    def name_of(self, segment: int, position: int) -> str:
        """The name of a segment on the family's device number `position`."""
        name = self.segments[segment][0]
        found: str = name.values[position] if isinstance(name, Varied) else name
        return found

    def nodes_of(self, segment: int, position: int, start: int) -> tuple[Node, ...]:
        """The nodes of a segment on the family's device number `position`, whose tensors start at `start`."""
        where = [*range(start, start + len(self.shares)), ABSENT]
        return tuple(
            Node(
                op,
                tuple([where[at] for at in inputs]),
                tuple([where[at] for at in outputs]),
                attrs.values[position] if isinstance(attrs, Varied) else attrs,
                name,
            )
            for op, inputs, outputs, attrs, name in self.segments[segment][1]
        )
