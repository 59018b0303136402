"""Random expressions as data, so that one can be built twice: as it is, rewritten by sound laws, or mutated."""

import random
from fractions import Fraction

from verdict.solver import Terms

REALS = ("x", "y", "z")
LEAVES = ("x", "y", "z", "p", "i0", "i1", "i2", "2", "1/3", "-1")
UNARY = ("exp", "square", "root", "log", "f", "neg", "inverse")
BINARY = ("add", "add", "mul", "mul", "sub", "max", "div")


def recipe(rng: random.Random, depth: int):
    """A nested tuple (operation, *operands), or the name of a leaf."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(LEAVES)
    if rng.random() < 0.35:
        return (rng.choice(UNARY), recipe(rng, depth - 1))
    return (rng.choice(BINARY), recipe(rng, depth - 1), recipe(rng, depth - 1))


def build(terms: Terms, what):
    """The term of a recipe. Roots, logarithms and divisors are made positive by squaring and adding 1."""
    if isinstance(what, str):
        if what in REALS:
            return terms.real(what)
        if what == "p":
            return terms.positive("p")
        if what.startswith("i"):
            return terms.index("i", 3).indicator(int(what[1]))
        return terms.constant(Fraction(what))
    head, *operands = what
    args = [build(terms, operand) for operand in operands]
    positive = args[-1] * args[-1] + 1
    return {
        "add": lambda: args[0] + args[1],
        "sub": lambda: args[0] - args[1],
        "mul": lambda: args[0] * args[1],
        "div": lambda: args[0] / positive,
        "max": lambda: args[0].maximum(args[1]),
        "neg": lambda: -args[0],
        "square": lambda: args[0] * args[0],
        "inverse": lambda: 1 / positive,
        "exp": args[0].exp,
        "root": lambda: positive.power(Fraction(1, 2)),
        "log": positive.log,
        "f": lambda: args[0].opaque("f"),
        "exp_sum": lambda: args[0].exp() * args[1].exp(),
        "times_one": lambda: args[0] * positive / positive,
        "root_again": lambda: positive * positive.power(Fraction(-1, 2)),
        "same_max": lambda: args[1].maximum(args[0].maximum(args[1])),
    }[head]()


def rewrite(rng: random.Random, what):
    """Another recipe that means the same."""
    if isinstance(what, str):
        return ("times_one", what, rng.choice(LEAVES)) if rng.random() < 0.1 else what
    head, *operands = what
    args = [rewrite(rng, operand) for operand in operands]
    if head in ("add", "mul", "max") and rng.random() < 0.5:
        args.reverse()
    if head == "mul" and isinstance(args[1], tuple) and args[1][0] in ("add", "sub") and rng.random() < 0.6:
        return (args[1][0], ("mul", args[0], args[1][1]), ("mul", args[0], args[1][2]))
    if head == "exp" and isinstance(args[0], tuple) and args[0][0] == "add" and rng.random() < 0.6:
        return ("exp_sum", args[0][1], args[0][2])
    if head == "sub" and rng.random() < 0.4:
        return ("neg", ("sub", args[1], args[0]))
    if head == "root" and rng.random() < 0.4:
        return ("root_again", args[0])
    if head == "max" and rng.random() < 0.4:
        return ("same_max", *args)
    if head == "div" and rng.random() < 0.4:
        return ("mul", args[0], ("inverse", args[1]))
    return (head, *args)


def mutate(rng: random.Random, what):
    """A recipe with one node changed."""
    if isinstance(what, str) or rng.random() < 0.2:
        return recipe(rng, 1)
    head, *operands = what
    if rng.random() < 0.3:
        return (rng.choice(UNARY if len(operands) == 1 else BINARY), *operands)
    place = rng.randrange(len(operands))
    operands[place] = mutate(rng, operands[place])
    return (head, *operands)
