"""Plan mutants: single faults in right plans of every family."""

import random
import traceback
from collections.abc import Callable, Sequence
from functools import partial

from scripts.campaigns.families import FAMILIES, Pair
from scripts.campaigns.lines import CRASH, DISAGREE, Answer, Campaign, TooLong
from scripts.campaigns.shrinking import pruned, shrunk
from scripts.campaigns.truth import truth
from verdict.backends.text import write
from verdict.graph import Plan
from verdict.mutate import KINDS
from verdict.mutate.judge import EQUIVALENT, Judgement, Known, Oracle, judge
from verdict.mutate.mutate import mutant_of
from verdict.options import Options, SolverOptions

OPTIONS = Options(workers=0, solver=SolverOptions(z3=False, timeout=20.0))
SECONDS = 120
NUMBERS = 40
"""Of each kind so many different mutants of a family are drawn."""


class Families:
    """Pairs of families, made when they are first asked for, with what is proved of their stages."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self._pairs: dict[str, tuple[Pair, Known] | None] = {}

    def of(self, family: str) -> tuple[Pair, Known] | None:
        """The pair of a family; it must be proved, and its oracle must agree."""
        if family not in self._pairs:
            self._pairs[family] = self._made(family)
        return self._pairs[family]

    def _made(self, family: str) -> tuple[Pair, Known] | None:
        try:
            pair = FAMILIES[family]()
        except OSError:
            return None
        except Exception as error:
            if "no such file" in str(error):
                return None
            raise
        known = Known()
        found = judge(*pair, self.oracle, OPTIONS, known)
        if found.outcome != EQUIVALENT:
            raise ValueError(f"the right plan of {family} is {found}")
        return pair, known


def campaign(seed: int, families: Sequence[str] = (), kinds: Sequence[str] = ()) -> Campaign:
    """Question n is a random kind of fault in a random family."""
    made = Families(truth())
    wanted = tuple(families) or tuple(FAMILIES), tuple(kinds) or tuple(KINDS)
    return Campaign("plans", partial(ask, made, *wanted, seed), SECONDS)


def ask(made: Families, families: Sequence[str], kinds: Sequence[str], seed: int, number: int) -> Answer | None:
    """The answer to one question; None where the kind of fault has no place in the plan."""
    draw = random.Random(f"plans {seed} {number}")
    family, kind, at = draw.choice(families), draw.choice(kinds), draw.randrange(NUMBERS)
    known = made.of(family)
    if known is None:
        return None
    (single, parallel), outcomes = known
    mutant = mutant_of(parallel, seed, kind, at)
    if mutant is None:
        return None
    found = judged(single, mutant.plan, made.oracle, outcomes)
    texts = smallest(found, single, mutant.plan, made.oracle)
    return answered(found, family, kind, mutant.description, texts)._replace(pair=(single, mutant.plan))


def judged(single: Plan, plan: Plan, oracle: Oracle, known: Known | None = None) -> Judgement:
    """The judgement on a pair; a crash, an end of the time and an oracle that disagrees are judgements, too."""
    try:
        found = judge(single, plan, oracle, OPTIONS, known)
    except TooLong:
        return Judgement("unknown", "TIMEOUT", "not run", ("it took too long",), "")
    except Exception:
        told = traceback.format_exc().strip().splitlines()
        return Judgement(CRASH, "CRASH", "not run", (told[-1],), " | ".join(told[-4:]))
    return found._replace(outcome=DISAGREE) if found.oracle == DISAGREE else found


def answered(found: Judgement, name: str, kind: str, description: str, texts: Callable[[], dict[str, str]]) -> Answer:
    """A judgement as an answer. texts: of the pair, by the names of files."""
    told = "; ".join(found.reasons)
    return Answer(name, kind, found.outcome, found.verdict, found.oracle, told, description, found.detail, texts)


def smallest(found: Judgement, single: Plan, plan: Plan, oracle: Oracle) -> Callable[[], dict[str, str]]:
    """The texts of a small pair for which the judgement is the same."""

    def texts() -> dict[str, str]:
        def same(one: Plan, other: Plan) -> bool:
            again = judged(one, other, oracle)
            return (again.outcome, again.verdict) == (found.outcome, found.verdict)

        pair = shrunk(single, plan, same)
        both = pruned(pair[0]), pruned(pair[1])
        pair = both if same(*both) else pair
        return {"single.plan": write(pair[0]), "parallel.plan": write(pair[1])}

    return texts
