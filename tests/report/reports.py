"""Reports for tests: of kept pairs, and one in which every name is hostile."""

from dataclasses import replace
from fractions import Fraction

from tests.builders import ask
from tests.pairs import load, report_on
from verdict.outcome import Assumption, Block, Counterexample, Finding, Mismatch
from verdict.report import Measured, Open
from verdict.report.picture import Around, Bar, Drawn, Lane, Picture

MEASURED = Measured((("prove", 1.5),), 100.0, 1)
HOSTILE = '<script>alert("x")</script>]]>&\x1b[31m\x9b\x07\n::error::\u202e\ud800,:%'


def wrong(name="missing_reduction"):
    return report_on(name)


def right():
    single = load("missing_reduction").plans()[0]
    return ask(single, single)


def hostile():
    """A refutation made of names that try to be markup, commands and control sequences."""
    report = wrong()
    block = Block(HOSTILE, (2,), (Fraction(1), Fraction(2)), (False, True))
    found = Counterexample((block,), (block,), (block,), HOSTILE, ())
    finding = Finding(
        "missing-reduction", HOSTILE, HOSTILE, notes=(HOSTILE,), help=HOSTILE, modules=(HOSTILE,),
        single=(HOSTILE,), parallel=(HOSTILE,), counterexample=found, ranks=(0,),
    )  # fmt: skip
    around = Around((Drawn(HOSTILE, HOSTILE, HOSTILE, True), Drawn("add", HOSTILE, "")), ((0, 1),))
    lanes = (Lane(0, (Bar(HOSTILE, 0, 0, True), Bar(HOSTILE, -1, 1, False))),)
    values = (Mismatch(HOSTILE, (0,), Fraction(1), 2.5),)
    return replace(
        report,
        findings=(finding, replace(finding, code=HOSTILE, counterexample=None, values=values)),
        notes=(finding,),
        open=(Open(HOSTILE, HOSTILE, "no-proof"),),
        assumptions=(Assumption(HOSTILE, HOSTILE),),
        single=replace(report.single, source=HOSTILE, mesh=((HOSTILE, 1),)),
        parallel=replace(report.parallel, source=HOSTILE),
        pictures=(Picture(0, lanes, (1, 1), 0, around, around, ((0, 1),)),),
    )


def unknown():
    report = hostile()
    return replace(report, findings=(), notes=())
