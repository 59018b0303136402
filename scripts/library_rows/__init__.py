"""Other people's libraries, and the programs of examples/libraries/ that train their models: docs/libraries.md."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A program and the same with a mistake that a user may make.

    what: the model and how it is trained. file: in examples/libraries/. right, wrong: builders in it; wrong may be "".
    single: the builder of the single-device program. mistake: in a few words. reason: why it is not PROVED.
    fault: whether the library is wrong and the row shows what is said of it.
    """

    what: str
    file: str
    right: str
    single: str
    wrong: str = ""
    mistake: str = ""
    ranks: int = 2
    tensors: str = "real"
    reason: str = ""
    fault: bool = False


@dataclass(frozen=True)
class Library:
    """A library at a version. packages: what is installed behind torch. bare: what is installed without what it asks
    for, where that would bring CUDA. unanswered: models, and how they are trained, of which nothing is said in time.
    """

    name: str
    version: str
    packages: tuple[str, ...]
    rows: tuple[Row, ...]
    bare: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
