"""Program mutants: source-level edits of random programs and of the examples; the truth is what gloo processes compute.

Questions come in blocks of one program: the first of BLOCK is the program as it is, the others each edit it once. The
single-device program is never edited, and is recorded and run once for all of them.
"""

import random
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from scripts.campaigns import handmade, modules
from scripts.campaigns.edits import edits
from scripts.campaigns.handmade import Text
from scripts.campaigns.lines import BLOCK, CRASH, NONE, Answer, Campaign, TooLong, limited
from scripts.campaigns.plans import OPTIONS
from scripts.campaigns.recordings import Program, recorded, warm
from tests.torch import truth
from tests.torch.verdicts import plan
from verdict.backends.text import write
from verdict.backends.torch.oracle.compare import work_of
from verdict.comparison import AGREE, CANNOT, DIFFER
from verdict.errors import UsageError, VerdictError
from verdict.graph import Plan
from verdict.mutate.judge import outcome_of
from verdict.pipeline import verify

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {
    "linear_ddp": 2, "mlp_megatron": 2, "ddp_manual": 2, "zero1": 2, "zero2_clip": 2, "ring_attention": 2, "clip": 2,
    "hand_cut": 2, "ep_all_to_all": 2, "pipeline": 2, "moe": 2,
}  # fmt: skip
"""Examples that are recorded on tensors without data, and how many ranks they have."""
SECONDS = 40
SEEDS = (0, 1)
CLOSE = 1e-9


class Edited(NamedTuple):
    """A parallel program: its file, the kind of edit and what was edited."""

    file: str
    kind: str
    what: str


class Block(NamedTuple):
    """A program and its mutants. recorded: of every program that was written, its recordings or why there are none.

    alone: by the seed, what the single-device program computes, or why it does not; filled when it is asked for.
    """

    folder: Path
    text: Text
    single: str
    edited: tuple[Edited, ...]
    recorded: Mapping[Program, Any]
    alone: dict[int, Any]


class Campaigner:
    """The programs of one seed, block by block."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.folder = Path(tempfile.mkdtemp(prefix="verdict-programs-"))
        self.blocks: dict[int, Block] = {}
        truth.CLOSE = CLOSE
        warm()

    def ask(self, number: int) -> Answer | None:
        """The answer to one question; None where the program has too few edits."""
        at, place = divmod(number, BLOCK)
        if at not in self.blocks:
            for old in self.blocks.values():
                shutil.rmtree(old.folder, ignore_errors=True)
            self.blocks = {at: block(self.folder / f"p{at}", random.Random(f"programs {self.seed} {at}"))}
        found = self.blocks[at]
        return answer(found, found.edited[place]) if place < len(found.edited) else None

    def close(self) -> None:
        """Remove the programs."""
        shutil.rmtree(self.folder, ignore_errors=True)


def campaign(seed: int) -> Campaign:
    """Question n is a program, edited or not."""
    made = Campaigner(seed)
    return Campaign("programs", made.ask, SECONDS * BLOCK, made.close)


def block(folder: Path, draw: random.Random) -> Block:
    """A random program in this folder, and its recorded mutants."""
    folder.mkdir(parents=True)
    if draw.random() < 0.2:
        name = draw.choice(sorted(EXAMPLES))
        for file in (ROOT / "examples" / "torch").glob("*.py"):
            shutil.copy(file, folder)
        text = Text((folder / f"{name}.py").read_text(), EXAMPLES[name], f"example {name}")
    else:
        style = draw.choice((*handmade.STYLES, *handmade.STYLES, *modules.STYLES))
        text, name = (handmade if style in handmade.STYLES else modules).program(draw, style), "single"
    single = folder / f"{name}.py"
    single.write_text(text.text)
    edited = [Edited(str(single), NONE, "")]
    for at, (kind, what, source) in enumerate(islice(edits(text.text, draw), BLOCK - 1)):
        file = folder / f"edited_{at}_{name}.py"
        file.write_text(source)
        edited.append(Edited(str(file), kind, what))
    programs = [Program(str(single), "build_single", 1)]
    programs += [Program(each.file, "build", text.world) for each in edited]
    found = recorded(programs, "real" if text.real else "fake")
    return Block(folder, text, str(single), tuple(edited), dict(zip(programs, found, strict=True)), {})


def answer(block: Block, edited: Edited) -> Answer:
    """What Verdict and the runs say of one program."""
    one = block.recorded[block.single, "build_single", 1]
    other = block.recorded[edited.file, "build", block.text.world]
    verdict, why, detail = verdict_on((one, other))
    seeds = (*SEEDS, *truth.SCALES) if verdict == "REFUTED" else SEEDS
    said, told = ("not run", "") if verdict == "REFUSED" else true(block, edited, seeds)
    outcome = CRASH if verdict == "CRASH" else outcome_of(verdict, said)
    files = partial(_files, block, edited, one, other)
    detail, pair = told or detail, _plans((one, other))
    return Answer(block.text.told, edited.kind, outcome, verdict, said, why, edited.what, detail, files, pair)


def _plans(pair: Sequence[Any]) -> tuple[Plan, Plan] | None:
    """The plans of two recordings; None where there are none, which is what the verdict tells of."""
    try:
        single, parallel = (plan(each, "program") for each in pair)
    except Exception:
        return None
    return single, parallel


def verdict_on(pair: Sequence[Any]) -> tuple[str, str, str]:
    """PROVED, REFUTED, UNKNOWN (also where time is up), REFUSED or CRASH, and why."""
    try:
        with limited(SECONDS):
            plans = [plan(each, "program") for each in pair]
            report = verify(*plans, OPTIONS)
    except TooLong:
        return "UNKNOWN", f"more than {SECONDS} s", ""
    except (UsageError, VerdictError) as error:
        return "REFUSED", str(error), ""
    except Exception as error:
        return "CRASH", repr(error), ""
    told = [finding.title for finding in report.findings] + [f"{each.where}: {each.reason}" for each in report.open]
    return report.verdict.name, "; ".join(told), f"{work_of(plans[1])} elements"


def true(block: Block, edited: Edited, seeds: Sequence[int]) -> tuple[str, str]:
    """Whether the program computes what the single-device program does, on the numbers of every seed."""
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            if seed not in block.alone:
                block.alone[seed] = truth.launch(block.single, "build_single", 1, None, folder, seed)
            alone, why = block.alone[seed]
            if alone is None:
                return CANNOT, f"the single-device program: {why}"
            _, given, whole = alone[0]
            found, why = truth.launch(edited.file, "build", block.text.world, given, folder, seed)
        why = why or truth.compared(whole, found)
        if why:
            return DIFFER, f"seed {seed}: {why}"
    return AGREE, ""


def _files(block: Block, edited: Edited, one: Any, other: Any) -> dict[str, str]:
    """The programs, and what was recorded of them."""
    found = {"single.py": Path(block.single).read_text(), "program.py": Path(edited.file).read_text()}
    for side, each in (("single", one), ("parallel", other)):
        if not isinstance(each, Exception):
            found[f"{side}.plan"] = write(plan(each, side))
    return found
