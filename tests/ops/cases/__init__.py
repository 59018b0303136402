"""The cases of every rule: one file a file of verdict/ops, gathered into one table."""

from tests.ops.cases import (
    arithmetic,
    bounds,
    casts,
    contractions,
    elementwise,
    embedding,
    gpt,
    losses,
    mask,
    moe,
    norms,
    optimizers,
    pieces,
    reductions,
    reshapes,
    rotary,
)

FILES = (
    arithmetic,
    bounds,
    casts,
    contractions,
    elementwise,
    embedding,
    gpt,
    losses,
    mask,
    moe,
    norms,
    optimizers,
    pieces,
    reductions,
    reshapes,
    rotary,
)
SUBJECTS = {subject.op: subject for file in FILES for subject in file.SUBJECTS}
MISFITS = tuple(misfit for file in FILES for misfit in file.MISFITS)
