"""The pages in a real browser: what a person sees and does there, with the keyboard alone."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.maps import Layer, RecordedMap
from thinktwice.rollouts.records import EpisodeRecord, Run, open_run
from thinktwice.rollouts.report import write_report
from thinktwice.rollouts.report_runs import write_side_by_side
from thinktwice.rollouts.traces import TracedDecision, write_trace
from thinktwice.rollouts.video import film_episodes

pytestmark = pytest.mark.slow

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"quotes\" 'and' {{ 7 * 7 }} & ünïcode"
OPEN = "document.querySelector('details.episode[open]')"


@pytest.fixture
def run_copy(reference: Path, tmp_path: Path) -> Run:
    return open_run(Path(shutil.copytree(reference, tmp_path / "run")))


def rewrite(run: Run, record: EpisodeRecord, change: Callable[[TracedDecision], Mapping[str, Any]]) -> None:
    """Change the decisions of an episode's trace."""
    trace = run.trace(record.key)
    decisions = tuple(dataclasses.replace(decision, **change(decision)) for decision in trace.decisions)
    write_trace(run.path / "traces", dataclasses.replace(trace, decisions=decisions))


def opened(browser: Any, page: Path, key: str, **view: Any) -> None:
    browser.open(page, **view)
    browser.run(f"document.getElementById({json.dumps(key)}).querySelector('summary').click()")
    browser.until(f"{OPEN} && {OPEN}.querySelector('.moment h3').textContent")


def title(browser: Any) -> str:
    return browser.run(f"{OPEN}.querySelector('.moment h3').textContent")


def test_filters_search_and_a_link_to_an_episode(browser: Any, run_copy: Run) -> None:
    page = write_report(run_copy.path)
    browser.open(page)
    shown = "[...document.querySelectorAll('details.episode')].filter((e) => e.offsetParent !== null).length"
    assert browser.run(shown) == len(run_copy.episodes)
    browser.run("document.querySelector('input[name=outcome][value=failure]').click()")
    assert browser.run(shown) == sum(record.status == "failure" for record in run_copy.episodes)
    browser.run("document.querySelector('input[name=outcome][value=\"\"]').click()")
    browser.press("/")
    browser.call("Input.insertText", text="no such words")
    assert browser.run(shown) == 0
    assert not browser.run("document.getElementById('none').hidden")
    key = run_copy.episodes[2].key
    browser.run(f"location.hash = '#{key}'")
    assert browser.until(f"{OPEN} && {OPEN}.id") == key
    assert browser.problems() == []


def test_the_keyboard_walks_through_decisions_and_the_film_follows(browser: Any, run_copy: Run) -> None:
    record = max(run_copy.episodes, key=lambda record: record.decisions)
    rewrite(run_copy, record, lambda decision: {"why": HOSTILE} if decision.index == 0 else {})
    list(film_episodes(run_copy.path, [record.key]))
    opened(browser, write_report(run_copy.path), record.key)
    decisions = run_copy.trace(record.key).decisions
    film = f"{OPEN}.querySelector('video')"
    assert browser.until(f"{film}.videoWidth") == 256
    assert browser.run(f"{film}.duration") == pytest.approx((record.steps + 20) / 20, abs=0.2)
    assert HOSTILE in browser.run(f"{OPEN}.textContent")
    assert browser.run("document.images.length") == 0
    browser.run(f"{OPEN}.querySelector('.slider').focus()")
    browser.press("ArrowRight")
    assert title(browser).startswith(f"Decision 2 of {len(decisions)} · step {decisions[0].executed}")
    moment = (decisions[0].executed + 0.5) / 20
    browser.until(f"!{film}.seeking")
    assert browser.run(f"{film}.currentTime") == pytest.approx(moment, abs=1e-3)
    browser.press("End")
    assert title(browser).startswith(f"Decision {len(decisions)} of")
    browser.press("ArrowRight", "Home", "ArrowLeft")
    assert title(browser).startswith("Decision 1 of")
    slider = f"{OPEN}.querySelector('.slider')"
    assert browser.run(f"{slider}.getAttribute('aria-valuenow')") == "1"
    assert HOSTILE in browser.run(f"{slider}.getAttribute('aria-valuetext')")
    browser.press(" ")
    assert browser.until(f"!{film}.paused || {film}.currentTime > 0.1")
    assert browser.problems() == []


def test_candidates_preferences_and_the_ledger_of_the_moment(browser: Any, run_copy: Run) -> None:
    record = next(record for record in run_copy.episodes if record.deliberated)
    list(film_episodes(run_copy.path, [record.key]))
    opened(browser, write_report(run_copy.path), record.key)
    decisions = run_copy.trace(record.key).decisions
    index = next(decision.index for decision in decisions if decision.preferences is not None)
    browser.run(f"{OPEN}.querySelector('.slider').focus()")
    browser.press(*["ArrowRight"] * index)
    chosen = decisions[index]
    assert chosen.preferences is not None
    cells = browser.run(
        f"[...{OPEN}.querySelectorAll('.heat .cell')].map((c) => [+c.style.fillOpacity, c.textContent])"
    )
    count = len(chosen.candidates)
    assert [opacity for opacity, _ in cells] == pytest.approx(chosen.preferences.ravel(), abs=0.0101)
    assert cells[1][1] == f"0 better than 1: {round(100 * float(chosen.preferences[0, 1]))}%"
    outlined = browser.run(f"{OPEN}.querySelector('.heat .chosen').getAttribute('y')")
    assert float(outlined) == pytest.approx(chosen.chosen + 1.2 - 0.03)
    ways = browser.run(f"[...{OPEN}.querySelectorAll('.ways polyline:not(.halo)')].map((l) => l.getAttribute('class'))")
    assert len(ways) == count
    assert ways[-1] == "executed"
    rows = browser.run(
        f"[...{OPEN}.querySelectorAll('.ledger tbody tr')].map((r) => [...r.children].map((c) => c.textContent))"
    )
    ledger = {name: (int(here), int(so_far), int(total)) for name, here, so_far, total in rows}
    spent = sum(decision.cost.candidates for decision in decisions[: index + 1])
    assert ledger["candidates"] == (chosen.cost.candidates, spent, record.cost.candidates)
    browser.press("Home")
    assert browser.run(f"{OPEN}.querySelectorAll('.heat, .ways polyline').length") == 0
    assert browser.problems() == []


def turns_of(decision: TracedDecision) -> dict[str, Any]:
    rejected = {"answer": "fly", "rejected": "'fly' is not admissible", "prompt": "?"}
    turns = [
        {"stage": "describe", "who": "scene", "text": f"I see {HOSTILE}", "prompt_tokens": 3, "completion_tokens": 4},
        {"stage": "critique", "who": "rules", "text": '{"sufficient":false,"questions":["where?","what?"]}'},
        {"stage": "decide", "who": "rules", "text": "go", "exchanges": [rejected]},
    ]
    picture = np.full((20, 30, 3), 40 * min(decision.index, 1), np.uint8)
    return {"notes": {"transcript": turns, "questions": 2, "seen.front": picture}, "text": "You see a room."}


def test_a_transcript_is_read_beside_what_the_model_saw(browser: Any, run_copy: Run) -> None:
    record = run_copy.episodes[0]
    rewrite(run_copy, record, turns_of)
    opened(browser, write_report(run_copy.path), record.key)
    shown = f"[...{OPEN}.querySelectorAll('.exchange')]"
    assert browser.run(f"{shown}.length") == record.decisions
    first = browser.run(f"[...{shown}[0].querySelectorAll('.turn')].map((t) => [t.dataset.stage, t.textContent])")
    assert [stage for stage, _ in first[:4]] == ["world", "describe", "critique", "decide"]
    assert f"I see {HOSTILE}" in first[1][1]
    assert "3 + 4 tokens" in first[1][1]
    assert "sufficient: false\nquestions: where? · what?" in first[2][1]
    assert "rejected: fly – 'fly' is not admissible" in first[3][1]
    assert "2 questions" in browser.run(f"{shown}[0].querySelector('h3').textContent")
    browser.until(f"{shown}.map((e) => e.querySelector('img')).every((image) => image.complete)")
    size = browser.run(f"[{shown}[1].querySelector('img').naturalWidth, document.images.length]")
    assert size == [30, record.decisions]
    holder = browser.run("document.querySelector('script.pictures').textContent.split(' ').length")
    assert holder == 2
    browser.run(f"{shown}[2].querySelector('button').click()")
    assert title(browser).startswith("Decision 3 of")
    assert browser.run(f"{shown}[2].classList.contains('current')")
    assert browser.problems() == []


def map_of(decision: TracedDecision) -> dict[str, Any]:
    size = 6 + decision.index
    cells = np.full((size, size), Layer.FREE, np.uint8)
    cells[0, 0] = Layer.FRONTIER
    found = RecordedMap(cells=cells, x=0.0, y=0.0, cell=0.5, pose=(0.5 * decision.index + 0.25, 0.25, 0.0))
    call = {"call": {"why": "asked"}} if decision.index == 1 else {}
    return {"notes": {**found.notes(), **call}}


def test_the_map_grows_with_the_decisions(browser: Any, run_copy: Run) -> None:
    record = max(run_copy.episodes, key=lambda record: record.decisions)
    rewrite(run_copy, record, map_of)
    opened(browser, write_report(run_copy.path), record.key, dark=True)
    side = 5 + record.decisions
    drawn = f"{OPEN}.querySelector('.map')"
    assert browser.run(f"{drawn}.firstChild.getAttribute('viewBox')") == f"0 0 {side} {side}"
    # The sprite is read back as the browser decodes it: the cell of the decision that is shown.
    read = f"""(async () => {{
      const image = new Image();
      image.src = getComputedStyle({drawn}).backgroundImage.slice(5, -2);
      await image.decode();
      const canvas = Object.assign(document.createElement("canvas"), {{ width: image.width, height: image.height }});
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      const place = {drawn}.style.backgroundPosition.split(" ").map(parseFloat);
      const many = {drawn}.style.backgroundSize.split(" ").map((s) => parseFloat(s) / 100);
      const [column, row] = place.map((p, i) => Math.round(p / 100 * (many[i] - 1)));
      const pixel = (x, y) => [...context.getImageData(column * {side} + x, row * {side} + y, 1, 1).data];
      return [pixel(0, {side} - 1), pixel(3, {side} - 1), pixel({side} - 1, 0)];
    }})()"""
    corner, inside, far = browser.run(read)
    assert corner == [66, 170, 84, 255]
    assert inside == [250, 250, 248, 255]
    assert far == [205, 206, 210, 255]
    assert browser.run(f"{drawn}.querySelectorAll('circle').length") == 0
    browser.run(f"{OPEN}.querySelector('.slider').focus()")
    browser.press("End")
    assert browser.run(read)[2] == [250, 250, 248, 255]
    assert (
        browser.run(f"{drawn}.querySelector('polyline').getAttribute('points').split(' ').length") == record.decisions
    )
    browser.run(f"{drawn}.querySelector('circle').dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))")
    assert title(browser).startswith("Decision 2 of")
    assert browser.problems() == []


def test_a_pair_is_walked_through_together(browser: Any, run_copy: Run, tmp_path: Path, config: Any) -> None:
    from thinktwice.rollouts import run

    other = tmp_path / "b" / "other"
    run(config(other, agent_options={"skill": 0.9}))
    for folder in (run_copy.path, other):
        write_report(folder)
    browser.open(write_side_by_side([run_copy.path, other], tmp_path / "runs.html"))
    kinds = browser.run("[...document.querySelectorAll('.pair')].map((p) => p.dataset.kind)")
    there = {record.episode: record.status for record in open_run(other).episodes}
    rescued = [r for r in run_copy.episodes if (r.status, there[r.episode]) == ("failure", "success")]
    assert rescued
    assert kinds[: len(rescued)] == ["rescue"] * len(rescued)
    assert len(kinds) == len(run_copy.episodes)
    browser.run("document.querySelector('details.pair summary').focus()")
    browser.press("Enter")
    browser.until(f"{OPEN} && {OPEN}.querySelectorAll('.moment .head h3').length === 2")
    browser.run(f"{OPEN}.querySelector('.slider').focus()")
    browser.press("ArrowRight")
    steps = browser.run(
        f"[...{OPEN}.querySelectorAll('.moment .head h3')].map((h) => h.textContent.match(/step (\\d+)/)[1])"
    )
    assert steps[0] == steps[1] != "0"
    links = browser.run(f"[...{OPEN}.querySelectorAll('.run a')].map((a) => a.href)")
    for link, folder in zip(links, (run_copy.path, other), strict=True):
        page, _, key = link.partition("#")
        assert page == (folder / "report.html").as_uri()
        assert key in {record.key for record in run_copy.episodes}
    assert browser.problems() == []


CONTRAST = """(() => {
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3)
    .reduce((sum, v, i) => sum + linear(v / 255) * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const { backgroundColor } = getComputedStyle(e);
      if (!backgroundColor.endsWith(", 0)")) return backgroundColor;
    }
    return "rgb(255, 255, 255)";
  };
  const speaks = (e) => [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const texts = [...document.querySelectorAll(".episode[open] *")].filter((e) => e.offsetParent && speaks(e));
  const ratios = texts.map((e) => {
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
  return Math.min(...ratios);
})()"""
"""The least contrast between a text and what is behind it, as WCAG 2 defines it."""


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (480, True)])
def test_nothing_is_wider_than_the_page_and_text_is_readable(
    browser: Any, run_copy: Run, width: int, dark: bool
) -> None:
    record = run_copy.episodes[0]
    rewrite(run_copy, record, lambda decision: {"notes": {**turns_of(decision)["notes"], **map_of(decision)["notes"]}})
    opened(browser, write_report(run_copy.path), record.key, width=width, dark=dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(CONTRAST) >= 4.5
