"""Where in the user's program an operator comes from: file, line, function, module, and what it is the backward of."""

import sys
import sysconfig
from itertools import islice
from linecache import getline
from pathlib import Path
from types import CodeType
from typing import Any

import torch
import typing_extensions

import verdict
from verdict.backends.torch.program import Program
from verdict.graph.lockstep import COMMUNICATION
from verdict.graph.sources import Cited

_ROOM = Path(verdict.__file__).resolve().parent
_OURS = (str(_ROOM / "backends" / "torch"), str(_ROOM / "child.py"))
_TORCH = str(Path(torch.__file__).resolve().parent)
_LIBRARY = str(Path(sysconfig.get_paths()["stdlib"]).resolve())
_WRAPPERS = str(Path(typing_extensions.__file__).resolve())
"""Where the functions are wrapped that torch calls deprecated."""
_DISPATCH = (*_OURS, str(Path(_TORCH) / "_compile.py"), str(Path(_TORCH) / "_dynamo"))
"""What stands between an operator and our recording of it: torch wraps that, too."""
_ENGINE = str(Path(_TORCH) / "autograd" / "graph.py")

_NOBODY = "torch"
"""The place of what is recorded while no code of the user's runs."""
MOST_CHARACTERS = 240
"""Of a line of the program, what a plan keeps: more than any style has in a line."""


class Origin:
    """Follows the forward calls of modules, and remembers for each autograd node where its forward stands.

    lines: the text of the lines that were cited, by file and line; "" where two files of one name have others.
    parallelized: the code that parallelized the model. It is cited where no code of the user's runs, and torch
    communicates, or does more in a backward pass than autograd does.
    """

    def __init__(self) -> None:
        self._modules: list[str] = []
        self._names: dict[int, str] = {}
        self._forward: dict[int, str] = {}
        self._foreign: dict[str, bool] = {}
        self._columns: dict[tuple[CodeType, int], int] = {}
        self.lines: dict[tuple[str, int], str] = {}
        self.parallelized: CodeType | None = None
        self._hooks: list[Any] = []

    def __enter__(self) -> "Origin":
        hooks = torch.nn.modules.module
        self._hooks = [
            hooks.register_module_forward_pre_hook(self._entered),
            hooks.register_module_forward_hook(self._left, always_call=True),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def of(self, program: Program) -> None:
        """Call the parts of a program's module by their names, and know what parallelized it."""
        if isinstance(program.params, torch.nn.Module):
            self.name_modules(program.params)
        self.parallelized = getattr(program.parallel, "__code__", None)

    def name_modules(self, module: torch.nn.Module) -> None:
        """Call the parts of `module` by their fully qualified names in it."""
        for name, part in module.named_modules():
            self._names[id(part)] = name

    def _entered(self, module: torch.nn.Module, args: Any) -> None:
        if id(module) not in self._names and not self._modules:
            self.name_modules(module)
        self._modules.append(self._names.get(id(module), ""))

    def _left(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        if self._modules:
            self._modules.pop()

    @property
    def module(self) -> str:
        """The module whose forward runs now, by its name; "" where none does."""
        return self._modules[-1] if self._modules else ""

    def name(self, op: str) -> str:
        """What a node for `op`, recorded now, is called: module, operator (or reason) and place."""
        short = op.split(".")[1] if op.startswith("aten.") else op
        place, in_engine = self._place()
        module, forward = self.module, ""
        node = torch._C._current_autograd_node()
        if not node:
            self._forward.setdefault(torch.autograd._get_sequence_nr() - 1, f"{module}|{place}")
        else:
            module, _, forward = self._forward.get(node._sequence_nr(), "|").partition("|")
        code = self.parallelized if _NOBODY in (place, forward) else None
        if code is not None and (op in COMMUNICATION or (in_engine and not self.by_engine())):
            place = self._cited(code, code.co_firstlineno)
        elif in_engine and node:
            what = node.name().rpartition("::")[2]
            place = f"backward of {forward}" if forward else f"{what}, backward at {place}"
        elif forward:
            place = f"{place}, backward of {forward}"
        return f"{module}: {short} ({place})" if module else f"{short} ({place})"

    def by_engine(self) -> bool:
        """Whether torch's own C++ within a backward pass runs what is recorded now, and no function of Python's."""
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_DISPATCH):
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename == _ENGINE

    def _place(self) -> tuple[str, bool]:
        """The innermost frame of the user's, as names cite it, and whether the engine runs in between."""
        frame: Any = sys._getframe(1)
        in_engine = False
        while frame is not None:
            code = frame.f_code
            in_engine = in_engine or (code.co_filename == _ENGINE)
            if not self._is_foreign(code.co_filename):
                return self._cited(code, frame.f_lineno, frame.f_lasti), in_engine
            frame = frame.f_back
        return _NOBODY, in_engine

    def _cited(self, code: CodeType, line: int, instruction: int | None = None) -> str:
        """The place of an instruction, or of code as a whole, whose line is kept."""
        file = Path(code.co_filename).name
        text = getline(code.co_filename, line).rstrip()[:MOST_CHARACTERS]
        if self.lines.setdefault((file, line), text) != text:
            self.lines[file, line] = ""
        if instruction is None:
            return str(Cited(file, line, 0, code.co_name))
        if (code, instruction) not in self._columns:
            _, _, column, _ = next(islice(code.co_positions(), instruction // 2, None), (None, None, None, None))
            self._columns[code, instruction] = 0 if column is None else column + 1
        return str(Cited(file, line, self._columns[code, instruction], code.co_name))

    def _is_foreign(self, file: str) -> bool:
        """Whether a file is torch's, Python's or ours, and not the user's."""
        if file not in self._foreign:
            library = file.startswith(_LIBRARY) and "site-packages" not in file
            self._foreign[file] = library or file.startswith(("<", *_OURS, _TORCH, _WRAPPERS))
        return self._foreign[file]
