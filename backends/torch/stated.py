"""What a Python file says of a Step without being run: that a name is one, and how many ranks its mesh has.

A name is one that is given a call of Step, of a function of the file that returns one, of `replace` of one, or another
such name. What else makes a Step is not seen: its single-device program must be named.
"""

import ast
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import NamedTuple

from verdict.backends.torch.launch import Target

STEP, REPLACE, MESH, MESH_PLACE = "Step", "replace", "mesh", 3


class Stated(NamedTuple):
    """What a file says of a Step. mesh: the expression of it, where it is given."""

    mesh: ast.expr | None


def step_of(target: Target) -> Stated | None:
    """The Step that the name is given in its file, where there is one."""
    try:
        tree = ast.parse(Path(target.file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None
    given = dict(_given(tree))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    return _stated(ast.Name(target.function), given, functions, frozenset())


def ranks_of(step: Stated) -> int | None:
    """How many ranks a step's mesh has, where the file says it in numbers."""
    try:
        mesh = ast.literal_eval(step.mesh) if step.mesh else None
    except ValueError:
        return None
    sizes = [mesh] if isinstance(mesh, int) else list(mesh.values()) if isinstance(mesh, dict) else []
    return prod(sizes) if sizes and all(type(size) is int and size > 0 for size in sizes) else None


def _given(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The names that are assigned at the top of a file, with the last expression of each."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        for each in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(each, ast.Name):
                yield each.id, node.value


def _stated(
    value: ast.expr, given: Mapping[str, ast.expr], functions: Mapping[str, ast.FunctionDef], seen: frozenset[str]
) -> Stated | None:
    """The Step that an expression makes. seen: names that it is given by, which make none of themselves."""
    if isinstance(value, ast.Name):
        found = given.get(value.id) if value.id not in seen else None
        return _stated(found, given, functions, seen | {value.id}) if found else None
    if not isinstance(value, ast.Call):
        return None
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    if name == STEP:
        return Stated(_argument(value, MESH, MESH_PLACE))
    if name == REPLACE and value.args:
        first = _stated(value.args[0], given, functions, seen)
        return Stated(_argument(value, MESH) or first.mesh) if first else None
    if name not in functions or name in seen:
        return None
    made = [
        _stated(node.value, given, functions, seen | {name})
        for node in ast.walk(functions[name])
        if isinstance(node, ast.Return) and node.value
    ]
    meshes = [_of_call(each.mesh, functions[name], value) for each in made if each]
    texts = {ast.dump(mesh) if mesh else "" for mesh in meshes}
    return Stated(meshes[0] if len(texts) == 1 else None) if meshes else None


def _argument(call: ast.Call, name: str, place: int | None = None) -> ast.expr | None:
    """What a call gives for a parameter: by its name, or at its place."""
    named = [each.value for each in call.keywords if each.arg == name]
    placed = [] if place is None else call.args[place : place + 1]
    return next(iter([*named, *placed]), None)


def _of_call(mesh: ast.expr | None, function: ast.FunctionDef, call: ast.Call) -> ast.expr | None:
    """A mesh that a function returns, where it is called so: what is given for its parameter, if it is one."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if not isinstance(mesh, ast.Name) or mesh.id not in names:
        return mesh
    place = names.index(mesh.id)
    defaults = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    return _argument(call, mesh.id, place) or defaults.get(mesh.id)
