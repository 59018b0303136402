"""The pictures of the page: ranks, schedule and nodes around the fault, as data and as a real browser lays them out."""

import json
import re
import shutil
import subprocess

import pytest

from tests.report.reports import MEASURED, hostile, right, wrong
from verdict.report.outputs import rendered

pytestmark = pytest.mark.usefixtures("shared_proofs")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium here: apt-get install chromium")
MEASURE = """<script>
const wide = document.documentElement;
const boxes = [...document.querySelectorAll("svg g.node, svg g.wrong, svg g.bar")].map(group => {
  const rect = group.querySelector("rect").getBoundingClientRect();
  return [...group.querySelectorAll("text")].every(text => {
    const own = text.getBoundingClientRect();
    return own.left >= rect.left && own.right <= rect.right + 1 && own.top >= rect.top && own.bottom <= rect.bottom;
  });
});
const inside = [...document.querySelectorAll("svg")].every(svg => [...svg.querySelectorAll("rect")].every(rect =>
  rect.getBoundingClientRect().right <= svg.getBoundingClientRect().right));
document.body.textContent = "measured " + JSON.stringify({
  wider: wide.scrollWidth > wide.clientWidth, boxes: boxes.length, fits: boxes.every(Boolean), inside,
  ground: getComputedStyle(wide.ownerDocument.body).backgroundColor}) + " end";
</script>"""


def pictures(name):
    return wrong(name).pictures


def test_the_schedule_marks_the_faulty_run():
    (picture,) = pictures("missing_reduction")
    marked = [(lane.device, bar.microbatch) for lane in picture.lanes for bar in lane.bars if bar.wrong]
    assert marked and all(device in wrong("missing_reduction").findings[0].ranks for device, _ in marked)
    for lane in picture.lanes:
        starts = [bar.start for bar in lane.bars]
        assert starts == sorted(set(starts))


def test_a_run_begins_behind_those_that_it_waits_for():
    (picture,) = pictures("wrong_collective")
    first = {lane.device: lane.bars[0].start for lane in picture.lanes}
    assert min(first.values()) == 0


def test_the_nodes_around_the_fault_are_drawn_beside_those_that_are_called_alike():
    (picture,) = pictures("wrong_input")
    (fault,) = [k for k, node in enumerate(picture.parallel.nodes) if node.wrong]
    assert any(fault in edge for edge in picture.parallel.edges)
    assert picture.matches
    for one, other in picture.matches:
        mine, theirs = picture.single.nodes[one], picture.parallel.nodes[other]
        assert mine.makes.split("[")[0] == theirs.makes.split("[")[0]


def test_a_proof_has_none():
    assert right().pictures == ()
    assert "<svg" not in rendered("html", right(), MEASURED)


def shown(page, tmp_path, *options):
    """What a browser makes of a page: the document, and what it complains of."""
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", *options,
        f"--user-data-dir={tmp_path}", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@needs_browser
@pytest.mark.parametrize("make", [wrong, hostile])
def test_a_browser_shows_it_and_complains_of_nothing(make, tmp_path):
    dom, complaints = shown(rendered("html", make(), MEASURED), tmp_path)
    assert complaints == []
    assert "REFUTED" in dom and dom.count("<svg") == 2 and 'class="ranks"' in dom
    assert "<script" not in dom


@needs_browser
@pytest.mark.parametrize("width", [400, 1280])
def test_no_text_leaves_its_box_and_no_page_its_window(width, tmp_path):
    page = rendered("html", wrong("wrong_input"), MEASURED)
    page = re.sub(r"<meta http-equiv[^>]*>", "", page).replace("</body>", f"{MEASURE}</body>")
    dom, _ = shown(page, tmp_path, f"--window-size={width},900")
    found = json.loads(re.search(r"measured (.*) end", dom)[1].replace("&quot;", '"'))
    assert found["boxes"] > 4
    assert (found["wider"], found["fits"], found["inside"]) == (False, True, True)


@needs_browser
def test_the_page_is_dark_where_the_reader_is(tmp_path):
    page = re.sub(r"<meta http-equiv[^>]*>", "", rendered("html", wrong(), MEASURED))
    page = page.replace("</body>", f"{MEASURE}</body>")
    dark, _ = shown(page, tmp_path, "--blink-settings=preferredColorScheme=0")
    light, _ = shown(page, tmp_path, "--blink-settings=preferredColorScheme=1")
    grounds = [re.search(r"rgb\(([^)]*)\)", dom)[1] for dom in (light, dark)]
    assert grounds == ["255, 255, 255", "13, 17, 23"]
