"""What a Python file says of a Step without being run: that a name is one, and how many ranks its mesh has."""

import ast
from math import prod
from pathlib import Path

from verdict.backends.torch.launch import Target

STEP, MESH_PLACE = "Step", 3


def step_of(target: Target) -> ast.Call | None:
    """The call of Step that the name is given in its file, where there is one."""
    try:
        tree = ast.parse(Path(target.file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names = [each.id for each in node.targets if isinstance(each, ast.Name)]
            called = node.value.func
            last = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if target.function in names and last == STEP:
                return node.value
    return None


def ranks_of(step: ast.Call) -> int | None:
    """How many ranks a step's mesh has, where the file says it in numbers."""
    given = [each.value for each in step.keywords if each.arg == "mesh"] or step.args[MESH_PLACE : MESH_PLACE + 1]
    try:
        mesh = ast.literal_eval(given[0]) if given else None
    except ValueError:
        return None
    sizes = [mesh] if isinstance(mesh, int) else list(mesh.values()) if isinstance(mesh, dict) else []
    return prod(sizes) if sizes and all(type(size) is int and size > 0 for size in sizes) else None
