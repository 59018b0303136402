"""A project in a folder: six small pairs, of which one is wrong and one cannot be read; and the commands, run there."""

from click.testing import CliRunner

from tests.pairs import load
from verdict.backends import save
from verdict.cli import cli

PLANS = {
    "one": "right",
    "two": "wrong",
    "three": "right",
    "four": "damaged",
    "five": "right",
    "six": "wrong",
}
"""The parallel plan of each pair."""
STANDINGS = {"right": "PROVED", "wrong": "REFUTED", "damaged": "REFUSED"}


def write_plans(folder):
    """The files of the plans."""
    single, wrong = load("missing_reduction").plans()
    save(single, str(folder / "single.plan"))
    save(load("missing_reduction").twin()[1], str(folder / "right.plan"))
    save(wrong, str(folder / "wrong.plan"))
    (folder / "damaged.plan").write_text("verdict-plan 99\n")


def write_project(folder, names=tuple(PLANS), top="", more=""):
    """The plans, and a pyproject.toml that lists the pairs of these names."""
    write_plans(folder)
    entries = "".join(
        f'[[tool.verdict.pairs]]\nname = "{name}"\nsingle = "single.plan"\nparallel = "{PLANS[name]}.plan"\n{more}\n'
        for name in names
    )
    (folder / "pyproject.toml").write_text(f"[tool.verdict]\n{top}\n{entries}")


def run(*arguments, given=None):
    """The command, run in this process: exit_code, stdout, stderr, exception."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=given)


def refused(*arguments, given=None):
    """The sentence with which the command refuses."""
    return str(run(*arguments, given=given).exception)
