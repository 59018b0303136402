"""Pictures of findings as elements of a page: a grid of ranks, the schedule, the nodes around the fault. No scripts."""

from itertools import product
from math import prod
from xml.etree.ElementTree import Element

from verdict.graph.lockstep import CHUNK, COMMUNICATION
from verdict.outcome import Finding
from verdict.report.elements import add
from verdict.report.lines import counted
from verdict.report.picture import Around, Lane, Picture
from verdict.report.report import Side

MOVING = COMMUNICATION | {CHUNK}
MOST_RANKS = 512
"""Up to so many ranks have a grid of all; of more, that of one replica is drawn, if it has no more than so many."""
MOST_CHARACTERS = 43
"""Of the text in a box."""
BAR, ROW = 26, 24
"""Pixels: of a run in the schedule, and of a device."""
BOX, HIGH, GAP = 330, 46, 14
"""Pixels: of a node, and between two."""
AROUND = "Around the fault: what reads what. Dashed: what is called alike, in red by another operator"
LEFT, RIGHT = 56, 510
"""Pixels: where the nodes of the two plans begin."""


def grid(parent: Element, finding: Finding, side: Side) -> None:
    """All ranks by the axes of the mesh, those at which a finding shows marked; nothing where it names none."""
    devices = side.ranks // max(side.replicas, 1)
    ranks = side.ranks if side.ranks <= MOST_RANKS else devices
    if not finding.ranks or ranks > MOST_RANKS or side.ranks < 2:
        return
    wrong = {replica + device for replica in range(0, ranks, devices) for device in finding.ranks}
    mesh = [(axis, size) for axis, size in side.mesh if size > 1]
    if prod(size for _, size in mesh) != ranks:
        mesh = [("rank", ranks)]
    *outer, (axis, width) = mesh
    figure = add(parent, "figure", **{"class": "wide"})
    table = add(figure, "table", **{"class": "ranks"})
    shown = "" if ranks == side.ranks else f" of the first of {side.replicas} replicas"
    add(table, "caption", f"Ranks{shown}: where it shows")
    head = add(add(table, "thead"), "tr")
    add(head, "td")
    for k in range(width):
        add(head, "th", f"{axis} {k}", scope="col")
    body = add(table, "tbody")
    rows = product(*(range(size) for _, size in outer))
    for number, at in enumerate(rows):
        row = add(body, "tr")
        add(row, "th", " ".join(f"{name} {k}" for (name, _), k in zip(outer, at, strict=True)), scope="row")
        for rank in range(number * width, (number + 1) * width):
            marked = {"class": "wrong", "title": f"rank {rank}: it shows here"} if rank in wrong else {}
            add(row, "td", f"{rank}{'!' if marked else ''}", **marked)


def schedule(parent: Element, picture: Picture) -> None:
    """What the devices run, side by side, the faulty runs marked."""
    lanes = [lane for lane in picture.lanes if lane.bars]
    if sum(len(lane.bars) for lane in lanes) < 2:
        return
    last = max(bar.start for lane in lanes for bar in lane.bars)
    size = 90 + BAR * (last + 1), ROW * len(lanes) + 4
    svg = _figure(parent, "The schedule: each run of a segment, with its microbatch", *size)
    for row, lane in enumerate(lanes):
        _lane(svg, lane, row * ROW)
    devices, runs = picture.more
    left_out = [counted(n, name) for n, name in ((devices, "device"), (runs, "later run")) if n]
    if left_out:
        add(parent, "p", f"left out: {' and '.join(left_out)}", **{"class": "note"})


def _lane(svg: Element, lane: Lane, top: int) -> None:
    _text(svg, 0, top + 16, f"rank {lane.device}")
    for bar in lane.bars:
        group = add(svg, "g", **{"class": "wrong" if bar.wrong else "bar"})
        when = "once a step" if bar.microbatch < 0 else f"microbatch {bar.microbatch}"
        add(group, "title", f"{bar.segment}, {when}{': the fault is here' if bar.wrong else ''}")
        left = 80 + BAR * bar.start
        add(group, "rect", x=str(left), y=str(top + 2), width=str(BAR - 3), height=str(ROW - 4), rx="3")
        label = ("!" if bar.wrong else "") + (str(bar.microbatch) if bar.microbatch >= 0 else "")
        _text(group, left + 4, top + 16, label)


def nodes(parent: Element, picture: Picture) -> None:
    """The nodes around the fault in both plans: who reads whom, and what is called alike."""
    if not picture.parallel.nodes:
        return
    rows = max(len(picture.single.nodes), len(picture.parallel.nodes))
    size = RIGHT + BOX + 56, 26 + rows * (HIGH + GAP)
    svg = _figure(parent, AROUND, *size)
    _text(svg, LEFT, 14, "single device")
    _text(svg, RIGHT, 14, f"rank {picture.device}")
    for one, other in picture.matches:
        line = {"x1": LEFT + BOX, "y1": _middle(one), "x2": RIGHT, "y2": _middle(other)}
        add(svg, "line", **{key: str(value) for key, value in line.items()}, **{"class": _kind(picture, one, other)})
    _column(svg, picture.single, LEFT, -1)
    _column(svg, picture.parallel, RIGHT, 1)


def _kind(picture: Picture, one: int, other: int) -> str:
    """A match of one operator, or of two; what ranks sum or join is made by another one, as it must."""
    mine, theirs = picture.single.nodes[one].op, picture.parallel.nodes[other].op
    return "match" if mine == theirs or {mine, theirs} & MOVING else "match differs"


def _column(svg: Element, around: Around, left: int, side: int) -> None:
    """Nodes below each other. side: on which side of them edges run, -1 left, 1 right."""
    edge = left if side < 0 else left + BOX
    for maker, reader in around.edges:
        bulge = edge + side * min(50, 14 + 12 * abs(reader - maker))
        start, end = _middle(maker) + 6, _middle(reader) - 6
        add(svg, "path", d=f"M {edge} {start} C {bulge} {start}, {bulge} {end}, {edge} {end}", **{"class": "edge"})
        add(svg, "circle", cx=str(edge), cy=str(end), r="3", **{"class": "end"})
    for k, node in enumerate(around.nodes):
        top = _middle(k) - HIGH // 2
        group = add(svg, "g", **{"class": "wrong" if node.wrong else "node"})
        add(group, "title", f"{node.text} makes {node.makes}" if node.makes else node.text)
        add(group, "rect", x=str(left), y=str(top), width=str(BOX), height=str(HIGH), rx="5")
        _text(group, left + 8, top + 18, f"{'! ' if node.wrong else ''}{node.text}")
        _text(group, left + 8, top + 36, node.makes)


def _middle(row: int) -> int:
    return 26 + row * (HIGH + GAP) + HIGH // 2


def _figure(parent: Element, caption: str, width: int, height: int) -> Element:
    figure = add(parent, "figure", **{"class": "wide"})
    add(figure, "figcaption", caption)
    size = {"width": str(width), "height": str(height), "viewBox": f"0 0 {width} {height}"}
    return add(figure, "svg", role="img", **{"aria-label": caption}, **size)


def _text(parent: Element, left: int, top: int, text: str) -> None:
    short = text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
    if short:
        add(parent, "text", short, x=str(left), y=str(top))
