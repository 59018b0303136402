"""The plan text, read line by line: what docs/plan-format.md says, and no more checks than running it needs."""

import json
import re
from dataclasses import dataclass, field
from math import prod

TOKEN = re.compile(
    r"""(?P<name>(?:[A-Za-z_][\w.]*|"(?:[^"\\]|\\.)*")(?:~\d+)?(?:'\d+)?)"""
    r"""|(?P<number>-?(?:inf\b|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?))|(?P<comment>\#.*)|(?P<sign>\S)"""
)
LABEL = re.compile(r"""([A-Za-z_][\w.]*|"(?:[^"\\]|\\.)*")(?:~(\d+))?(?:'(\d+))?""")
CONSTANTS = {"None": None, "True": True, "False": False, "inf": float("inf"), "nan": float("nan")}


@dataclass(frozen=True)
class Logical:
    """A line of the table of tensors."""

    name: str
    kind: str
    dtype: str
    shape: tuple
    origin: object = None


@dataclass(frozen=True)
class Share:
    """A share of a logical tensor on one device. key: the logical tensor; number: which of its shares there."""

    key: tuple
    number: int
    region: tuple
    part: tuple = (0, 1)


@dataclass
class Node:
    """One operator of one device; inputs and outputs are shares, None where one is absent."""

    op: str
    inputs: list
    outputs: list
    attrs: dict


@dataclass
class Device:
    """The program of one device: segments by name, calls as (segment, microbatch or None, crossed), and its ends."""

    segments: dict = field(default_factory=dict)
    calls: list = field(default_factory=list)
    losses: list = field(default_factory=list)
    gradients: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    seeds: list = field(default_factory=list)
    storages: dict = field(default_factory=dict)


@dataclass
class Plan:
    """A plan as it is written. tensors: Logical by (name, which of that name)."""

    mesh: list = field(default_factory=list)
    devices: int = 0
    replicas: int = 0
    microbatches: int = 1
    batch: dict = field(default_factory=dict)
    shard: dict = field(default_factory=dict)
    groups: list = field(default_factory=list)
    tensors: dict = field(default_factory=dict)
    program: dict = field(default_factory=dict)


class Line:
    """The tokens of a line."""

    def __init__(self, text):
        self.tokens = [(m.lastgroup, m.group()) for m in TOKEN.finditer(text) if m.lastgroup != "comment"]

    def peek(self, ahead=0):
        return self.tokens[ahead][1] if len(self.tokens) > ahead else ""

    def take(self, wanted=None):
        _, token = self.tokens.pop(0)
        if wanted is not None and token != wanted:
            raise ValueError(f"expected {wanted}, found {token}")
        return token

    def skip(self, token):
        if self.peek() != token:
            return False
        self.tokens.pop(0)
        return True

    def number(self):
        token = self.take()
        if token == "-":
            return -self.number()
        try:
            return int(token)
        except ValueError:
            return float(token)

    def label(self):
        """(name, which of that name, which share)."""
        name, ordinal, version = LABEL.fullmatch(self.take()).groups()
        return (json.loads(name) if name.startswith('"') else name, int(ordinal or 1)), int(version or 1)

    def name(self):
        return self.label()[0]


class Family:
    """The devices that share a program, and the forms that stand for what differs among them."""

    def __init__(self, plan, devices):
        self.plan, self.devices = plan, devices
        inner = plan.mesh[1:]
        self.sizes = dict(inner) if prod(size for _, size in inner) == plan.devices else {}
        self.strides = {name: prod(size for _, size in inner[k + 1 :]) for k, (name, _) in enumerate(inner)}

    def along(self, names, device):
        """The coordinate along the product of axes, its length, and the devices of the group."""
        if names == ["each"]:
            return self.devices.index(device), len(self.devices), tuple(self.devices)
        base, group = device, [0]
        for name in names:
            base -= self.strides[name] * (device // self.strides[name] % self.sizes[name])
            group = [at + self.strides[name] * k for at in group for k in range(self.sizes[name])]
        members = tuple(base + at for at in group)
        return members.index(device), len(members), members


class Reader:
    """Reads a whole plan."""

    def __init__(self, text):
        self.plan, self.family, self.known, self.segment = Plan(), None, {}, None
        lines = [line for line in text.split("\n") if line.split("#")[0].strip() or '"' in line]
        if lines[0].strip() != "verdict-plan 1" or lines[-1].strip() != "end":
            raise ValueError("no whole plan")
        self.table = None
        for text_line in lines[1:-1]:
            line = Line(text_line)
            if line.tokens:
                (self.indented if text_line[0] == " " else self.head)(line)
        self.plan.devices = self.plan.devices or self.inner()

    def inner(self):
        return prod(size for _, size in self.plan.mesh[1:])

    def head(self, line):
        plan, word = self.plan, line.take()
        self.segment = self.table = None
        match word:
            case "mesh":
                while line.tokens:
                    name = line.take()
                    line.take("=")
                    plan.mesh.append((name, line.number()))
                plan.devices, plan.replicas = self.inner(), plan.mesh[0][1] if plan.mesh else 1
            case "devices" | "replicas" | "microbatches":
                setattr(plan, word, line.number())
            case "batch" | "shard":
                name, _ = line.name()
                getattr(plan, word)[name] = line.number()
            case "assume" | "range":
                pass
            case "group":
                plan.groups.append(frozenset(int(token) for _, token in line.tokens))
            case "tensors" | "loose":
                self.table = word
            case "family":
                plan.replicas, plan.devices = plan.replicas or 1, plan.devices or 1
                devices = []
                while line.tokens:
                    start = line.number()
                    devices += range(start, line.number()) if line.skip(":") else [start]
                self.family, self.known = Family(plan, devices), {}
                for device in devices:
                    plan.program[device] = Device()
            case _:
                self.of_family(word, line)

    def of_family(self, word, line):
        if word == "segment":
            label = line.name()
            names = self.each(lambda device, read: read.value(device), line) if line.peek() == "<" else None
            self.segment = {}
            for device in self.family.devices:
                name = (names[device], 1) if names else label
                self.plan.program[device].segments[name] = self.segment[device] = []
            self.labels = getattr(self, "labels", {})
            for device in self.family.devices:
                self.labels[device, label] = (names[device], 1) if names else label
            return
        start = list(line.tokens)
        for device in self.family.devices:
            line.tokens = list(start)
            program, read = self.plan.program[device], Mentions(self, line)
            match word:
                case "call":
                    label = line.name()
                    when = None if line.skip("once") else line.number()
                    crossed = {}
                    while line.tokens:
                        share = read.mention(device)
                        line.take("@")
                        crossed[share.key, share.number] = line.number()
                        line.skip(",")
                    program.calls.append((self.labels[device, label], when, crossed))
                case "loss" | "gradient" | "output":
                    share = read.mention(device)
                    of = read.mention(device) if line.skip("of") else None
                    {"loss": program.losses, "gradient": program.gradients, "output": program.outputs}[word].append(
                        (share, of)
                    )
                case "seed":
                    program.seeds.append(read.mention(device))
                case "storage":
                    line.name()
                    line.take(":")
                    while line.tokens:
                        read.mention(device)
                        line.skip(",")
                case _:
                    raise ValueError(f"{word} is no line of a family")

    def each(self, read, line):
        start, found = list(line.tokens), {}
        for device in self.family.devices:
            line.tokens = list(start)
            found[device] = read(device, Mentions(self, line))
        return found

    def indented(self, line):
        if self.table == "tensors":
            key, kind, dtype = line.name(), line.take(), line.take()
            line.take("[")
            shape = []
            while not line.skip("]"):
                shape.append(line.number())
                line.skip(",")
            origin = None
            if line.skip("origin"):
                origin = key[0] if line.peek() == "name" else Mentions(self, line).value(None)
            self.plan.tensors[key] = Logical(key[0], kind, dtype, tuple(shape), origin)
        elif self.segment is not None:
            start = list(line.tokens)
            for device, nodes in self.segment.items():
                line.tokens = list(start)
                nodes.append(Mentions(self, line).node(device))


class Mentions:
    """Reads what stands in a line for one device: tensors, regions, values."""

    def __init__(self, reader, line):
        self.reader, self.line = reader, line

    def node(self, device):
        line, outputs = self.line, []
        has_outputs = any(token == "=" for _, token in line.tokens) and self.assigns()
        while has_outputs and not line.skip("="):
            outputs.append(self.mention(device))
            line.skip(",")
        op = line.take()
        line.take("(")
        inputs = []
        while not line.skip(")"):
            inputs.append(self.mention(device))
            line.skip(",")
        attrs = {}
        while line.tokens and line.peek() != ":":
            name = line.take()
            line.take("=")
            attrs[name] = self.value(device)
        return Node(op, inputs, outputs, attrs)

    def assigns(self):
        """Whether the line begins with outputs: a `=` stands before the first bracket of an operator's inputs."""
        depth = 0
        for _, token in self.line.tokens:
            if token in "[{<":
                depth += 1
            elif token in "]}>":
                depth -= 1
            elif depth == 0 and token == "=":
                return True
            elif depth == 0 and token == "(":
                return False
        return False

    def mention(self, device):
        """A tensor; its share where it is mentioned first."""
        line = self.line
        if line.skip("-"):
            return None
        label, version = line.label()
        known = self.reader.known
        key = label
        if line.peek() == "<":
            key = (label[0], self.choice(device, lambda: self.value(device)))
        region = part = None
        shape = None
        if line.peek() == "[":
            shape = self.reader.plan.tensors[key].shape
            region = self.region(device, shape)
        if line.skip("{"):
            part = self.part(device)
            line.take("}")
        if (device, label, version) not in known:
            whole = tuple((0, size) for size in self.reader.plan.tensors[key].shape)
            known[device, label, version] = Share(key, version, region or whole, part or (0, 1))
        return known[device, label, version]

    def choice(self, device, read):
        """`<a | b>`, one for each device of the family; a single one is for all."""
        line = self.line
        line.take("<")
        found = [read()]
        while line.skip("|"):
            found.append(read())
        line.take(">")
        return found[0] if len(found) == 1 else found[self.reader.family.devices.index(device)]

    def axes(self):
        names = [self.line.take()]
        while self.line.peek() == "*" and self.line.peek(1) in self.reader.family.sizes:
            self.line.take()
            names.append(self.line.take())
        return names

    def region(self, device, shape):
        line, found = self.line, []
        line.take("[")
        while not line.skip("]"):
            found.append(self.interval(device, shape[len(found)]))
            line.skip(",")
        return tuple(found)

    def interval(self, device, size):
        line = self.line
        if line.skip(":"):
            return (0, size)
        if line.peek() == "<":
            return self.choice(device, lambda: self.interval(device, size))
        if line.peek()[0].isdigit():
            start = line.number()
            line.take(":")
            return (start, line.number())
        at, length, _ = self.reader.family.along(self.axes(), device)
        return (size * at // length, size * (at + 1) // length)

    def part(self, device):
        line = self.line
        if line.peek() == "<":
            return self.choice(device, lambda: self.part(device))
        if line.peek()[0].isdigit():
            part = line.number()
            line.take("/")
            return (part, line.number())
        at, length, _ = self.reader.family.along(self.axes(), device)
        return (at, length)

    def value(self, device):
        line = self.line
        kind = line.tokens[0][0]
        if line.peek() == "<":
            return self.choice(device, lambda: self.value(device))
        if line.skip("("):
            items = []
            while not line.skip(")"):
                items.append(self.value(device))
                line.skip(",")
            return tuple(items)
        if kind == "number" or line.peek() in "+-":
            return line.number()
        if line.peek().startswith('"'):
            return json.loads(line.take())
        if line.peek() in CONSTANTS:
            return CONSTANTS[line.take()]
        if line.peek() == "self":
            line.take()
            return device + self.offset()
        at, _, group = self.reader.family.along(self.axes(), device)
        if line.skip("*"):
            return at * line.number() + self.offset()
        offset = self.offset(None)
        return group if offset is None else at + offset

    def offset(self, default=0):
        line = self.line
        if line.skip("+"):
            return line.number()
        if line.peek() == "-" or (line.tokens and line.tokens[0][0] == "number" and line.peek()[0] == "-"):
            return line.number()
        return default


def read(text):
    """The plan that a text is."""
    return Reader(text).plan
