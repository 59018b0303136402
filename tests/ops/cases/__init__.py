"""The cases of every rule: one file a file of verdict/ops, gathered into one table."""

from tests.ops.cases import (
    arithmetic,
    casts,
    contractions,
    elementwise,
    embedding,
    gpt,
    mask,
    moe,
    norms,
    reductions,
    reshapes,
    rotary,
)

FILES = (
    arithmetic,
    casts,
    contractions,
    elementwise,
    embedding,
    gpt,
    mask,
    moe,
    norms,
    reductions,
    reshapes,
    rotary,
)
SUBJECTS = {subject.op: subject for file in FILES for subject in file.SUBJECTS}
MISFITS = tuple(misfit for file in FILES for misfit in file.MISFITS)
