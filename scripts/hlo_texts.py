"""Golden texts of a JAX program: what XLA is given and what its partitioner makes of that, for tests without jax.

    python scripts/hlo_texts.py FILE.py[:FUNCTION] NAME [FOLDER] [PYTHON]

Writes NAME.before.hlo and NAME.after.hlo, the version of jax in their first lines. PYTHON: the one that has jax.
"""

import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from verdict.backends.jax.command import DEVICES, LIMITS  # noqa: E402
from verdict.backends.jax.launch import texts_of  # noqa: E402

TEXTS = ROOT / "tests" / "backends" / "hlo" / "texts"
_TABLES = re.compile(r"^(FileNames|FunctionNames|FileLocations|StackFrames)\n(\d+ .*\n)*\n?", re.MULTILINE)
_ATTRIBUTES = re.compile(r', frontend_attributes=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}| stack_frame_id=\d+')


def main(target: str, name: str, folder: str = str(TEXTS), python: str = "") -> None:
    """Compile and write."""
    with TemporaryDirectory() as made:
        texts = texts_of(target, DEVICES, Path(made), python, False, LIMITS)
        version = json.loads((Path(made) / "reply.json").read_text())["jax"]
        for side, path in (("before", texts.before), ("after", texts.after)):
            text = _ATTRIBUTES.sub("", _TABLES.sub("", Path(path).read_text()))
            (Path(folder) / f"{name}.{side}.hlo").write_text(f"// jax {version}, XLA's CPU compiler\n{text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
