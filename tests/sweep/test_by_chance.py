"""What a correction mends by chance: an update that looks at no more of a gradient than its bounds or its sign."""

from tests.builders import FAST
from tests.values.outline import plans as outlined
from verdict.options import Options
from verdict.sweep import sweep
from verdict.sweep.why import Change, State, scene_of
from verdict.sweep.why.search import Cause, Mending, by_chance

STEP = """
  x input [4, 3]
  y = {}
  g = sum(y) dim=0 keepdim=False
  h = {}
  u = aten.clamp(g) min=-0.5 max=0.5
  output g
  output h
  output u
"""


def mending(mends, left):
    """The scene of a pair all outputs of which differ, and a correction that mends some of them and not others."""
    single, parallel = outlined(STEP.format("sigmoid(x)", "exp(x)"), STEP.format("tanh(x)", "mul(x) other=3.0"))
    found = sweep(single, parallel, Options(workers=0, solver=FAST))
    items = {item.result.what.split()[-1]: item for item in found.different}
    assert set(items) == {"g", "h", "u"}
    before, after = (
        State(found.runs.values[1], Change(), tuple(items[name] for name in names)) for names in (items, left)
    )
    return scene_of(found.runs), Mending(Cause(None, before, tuple(items[name] for name in mends)), after, False)


def test_an_update_that_is_right_with_a_wrong_gradient_is_so_by_chance():
    assert by_chance(*mending(["u"], ["g", "h"]))


def test_what_is_computed_from_nothing_that_is_wrong_is_mended():
    assert not by_chance(*mending(["g"], ["h", "u"]))
    assert not by_chance(*mending(["g", "u"], ["h"]))
    assert not by_chance(*mending(["u"], ["h"]))
