"""The report: what it says, that it fetches nothing, and that other people's text stays text."""

from __future__ import annotations

import base64
import html.parser
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from thinktwice.errors import RecordError, UsageError
from thinktwice.rollouts import report_media
from thinktwice.rollouts.records import open_run
from thinktwice.rollouts.report import write_report
from thinktwice.rollouts.report_details import MAX_DECISIONS, MAX_EPISODE, MAX_TEXT, episode_details
from thinktwice.rollouts.report_media import choose_media, filmstrip
from thinktwice.rollouts.report_runs import write_side_by_side
from thinktwice.rollouts.video import film_episodes, video_path
from thinktwice.scripts import report as command

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"quotes\" 'and' {{ 7 * 7 }} & ünïcode"


class Page(html.parser.HTMLParser):
    """The elements of a page: tag, attributes and the text directly inside."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[int] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        if tag not in {"meta", "input", "br", "img"}:
            self._open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open[-1]][0] == tag, f"</{tag}> closes <{self.elements[self._open[-1]][0]}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self.elements[self._open[-1]][2].append(data)

    def all(self, tag: str, css: str = "") -> list[tuple[dict[str, str | None], str]]:
        return [
            (attributes, "".join(text))
            for name, attributes, text in self.elements
            if name == tag and (not css or css in (attributes.get("class") or "").split())
        ]


@pytest.fixture
def run_copy(reference: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(reference, tmp_path / "run"))


def page_of(folder: Path) -> Page:
    page = Page(write_report(folder).read_text(encoding="utf-8"))
    assert not page._open
    return page


def rewrite_trace(folder: Path, key: str, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "traces" / f"{key}.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def test_every_episode_and_task_is_there_with_its_figures(run_copy: Path) -> None:
    run, page = open_run(run_copy), page_of(run_copy)
    rows = {attributes["id"]: attributes for attributes, _ in page.all("details", "episode")}
    assert list(rows) == [record.key for record in run.episodes]
    assert [row["data-status"] for row in rows.values()] == [record.status for record in run.episodes]
    cells = [" ".join(text.split()) for _, text in page.all("td")]
    for group in (*run.summary().tasks, run.summary().overall):
        assert f"{group.successes}/{group.judged}" in cells
        assert group.interval is not None
        assert f"{100 * group.interval.low:.1f}–{100 * group.interval.high:.1f}%" in cells
    assert [attributes["value"] for attributes, _ in page.all("option")] == ["", "fake/0", "fake/2"]


def test_intervals_are_drawn_where_they_are(run_copy: Path) -> None:
    overall = open_run(run_copy).summary().overall
    drawn = page_of(run_copy).all("span", "interval")[0][0]
    assert overall.interval is not None
    assert overall.rate is not None
    style = dict(re.findall(r"--(\w+): ([\d.]+)", drawn["style"] or ""))
    assert float(style["low"]) == pytest.approx(overall.interval.low, abs=1e-4)
    assert float(style["high"]) == pytest.approx(overall.interval.high, abs=1e-4)
    assert float(style["rate"]) == pytest.approx(overall.rate, abs=1e-4)
    assert "95% interval" in (drawn["aria-label"] or "")


def test_the_page_fetches_nothing(run_copy: Path) -> None:
    list(film_episodes(run_copy, [open_run(run_copy).episodes[0].key]))
    page = page_of(run_copy)
    for tag, attributes, _ in page.elements:
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        assert not (attributes.get("href") or "").startswith(("http", "//"))
    policy = next(a["content"] for _, a, _ in page.elements if "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_other_peoples_text_stays_text(run_copy: Path) -> None:
    record = open_run(run_copy).episodes[0]

    def poison(data: dict[str, Any]) -> None:
        data["instruction"] = HOSTILE
        data["final_text"] = HOSTILE
        data["decisions"][0] |= {"why": HOSTILE, "text": HOSTILE, "notes": {HOSTILE: HOSTILE}}

    rewrite_trace(run_copy, record.key, poison)
    page = page_of(run_copy)
    assert not page.all("img")
    scripts = page.all("script")
    assert len([text for attributes, text in scripts if "type" not in attributes]) == 1
    assert all("alert(1)" not in text for attributes, text in scripts if "type" not in attributes)
    titles = [text.strip() for _, text in page.all("span", "title")]
    assert HOSTILE in titles
    details = {a["data-key"]: json.loads(text) for a, text in page.all("script", "details")}
    assert details[record.key]["decisions"][0]["why"] == HOSTILE
    assert HOSTILE in json.loads(details[record.key]["decisions"][0]["notes"])
    assert details[record.key]["final_text"] == HOSTILE


def test_a_hostile_folder_name_and_error_stay_text_too(tmp_path: Path, config: Callable[..., Any]) -> None:
    from thinktwice.rollouts import run

    folder = tmp_path / "<b>run</b> & 'co'"
    run(config(folder, tasks="0", episodes=2, world_options={"crash": "0:0"}))
    page = page_of(folder)
    assert not [text for _, text in page.all("b") if text]
    assert page.all("h1")[0][1] == folder.name
    (broken,) = [a for a, _ in page.all("details", "episode") if a["data-status"] == "error"]
    details = {a["data-key"]: json.loads(text) for a, text in page.all("script", "details")}
    assert "told to raise" in details[broken["id"]]["error"]
    assert "told to raise" in (broken["data-search"] or "")
    figures = " ".join(text for _, text in page.all("p"))
    assert "neither solved nor failed" in figures


def test_an_unfinished_run_and_a_lost_trace_have_a_report(run_copy: Path) -> None:
    run = open_run(run_copy)
    (run_copy / "traces" / f"{run.episodes[0].key}.npz").unlink()
    lines = (run_copy / "episodes.jsonl").read_text().splitlines(keepends=True)
    (run_copy / "episodes.jsonl").write_text("".join(lines[:3]) + lines[3][:20])
    page = page_of(run_copy)
    notices = " ".join(text for _, text in page.all("p", "notice"))
    assert "unfinished: 3 of 8" in notices
    assert "torn last line" in notices
    details = {a["data-key"]: json.loads(text) for a, text in page.all("script", "details")}
    assert "there is no trace" in details[run.episodes[0].key]["missing"]


def test_seeds_reach_the_script_unrounded(run_copy: Path) -> None:
    record = open_run(run_copy).episodes[0]
    details = {a["data-key"]: json.loads(text) for a, text in page_of(run_copy).all("script", "details")}
    assert details[record.key]["identity"]["seed"] == str(record.episode.seed)


def test_long_texts_and_long_episodes_are_cut_and_say_so(run_copy: Path) -> None:
    run = open_run(run_copy)
    key = run.episodes[0].key

    def lengthen(data: dict[str, Any]) -> None:
        first = data["decisions"][0] | {"why": "w" * (2 * MAX_TEXT), "executed": 0, "text": "t" * 1000}
        more = [first | {"index": 1000 + i, "chunk": [], "candidates": []} for i in range(2 * MAX_DECISIONS)]
        data["decisions"] += more

    rewrite_trace(run_copy, key, lengthen)
    plain = episode_details(open_run(run_copy), run.episodes[0]).plain
    assert len(json.dumps(plain)) < 1.5 * MAX_EPISODE
    assert len(plain["decisions"]) == MAX_DECISIONS
    assert plain["left_out"] == len(run.trace(key).decisions) - MAX_DECISIONS > 0
    assert "text" not in plain["decisions"][-1]
    assert f"({2 * MAX_TEXT} characters)" in plain["decisions"][-1]["why"]


def test_videos_are_embedded_then_filmstrips_then_links(run_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_run(run_copy)
    failures = [record.key for record in run.episodes if record.status == "failure"]
    successes = [record.key for record in run.episodes if record.status == "success"]
    keys = [*failures[:2], *successes[:1]]
    list(film_episodes(run_copy, keys))
    everything = choose_media(run)
    assert {key: media.kind for key, media in everything.items()} == dict.fromkeys(keys, "video")
    assert base64.b64decode(everything[keys[0]].data[0]) == video_path(run, keys[0]).read_bytes()
    monkeypatch.setattr(report_media, "VIDEO_BUDGET", len(everything[failures[0]].data[0]) + 10)
    monkeypatch.setattr(report_media, "STRIP_BUDGET", 1)
    kinds = {key: media.kind for key, media in choose_media(run).items()}
    assert kinds == {failures[0]: "video", failures[1]: "strip", successes[0]: "link"}
    holders = {a["data-key"]: a for a, _ in page_of(run_copy).all("script", "media")}
    assert holders[successes[0]]["data-link"] == f"videos/{successes[0]}.mp4"


def test_a_filmstrip_runs_from_the_first_to_the_last_picture(run_copy: Path) -> None:
    run = open_run(run_copy)
    key = run.episodes[0].key
    list(film_episodes(run_copy, [key]))
    strip = filmstrip(video_path(run, key))
    assert len(strip) == report_media.STRIP_FRAMES
    assert all(picture.startswith(b"\xff\xd8") for picture in strip)
    assert sum(map(len, strip)) < 60_000
    (run_copy / "broken.mp4").write_bytes(b"no video")
    with pytest.raises(RecordError, match="cannot be read"):
        filmstrip(run_copy / "broken.mp4")


def test_several_runs_stand_side_by_side(run_copy: Path, tmp_path: Path, config: Callable[..., Any]) -> None:
    from thinktwice.rollouts import run

    run(config(tmp_path / "other", tasks="2,3", episodes=2))
    page = Page(write_side_by_side([run_copy, tmp_path / "other"], tmp_path / "runs.html").read_text())
    tasks = [text.split()[-1] if text.split() else "" for _, text in page.all("span", "name")]
    assert list(dict.fromkeys(tasks)) == ["fake/0", "fake/2", "fake/3"]
    assert sum(text.strip() == "not played" for _, text in page.all("td")) == 2
    with pytest.raises(UsageError, match="at least two"):
        write_side_by_side([run_copy], tmp_path / "runs.html")


def test_the_command_writes_films_and_says_where(
    run_copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command.main([str(run_copy), "--video", "failures"]) == 0
    out = capsys.readouterr().out
    assert out.split() == [str(run_copy / "report.html")]
    run = open_run(run_copy)
    assert all(video_path(run, r.key).exists() == (r.status == "failure") for r in run.episodes)


# ---- in a browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

_DRIVER = """
<script>
const report = [];
addEventListener("securitypolicyviolation", (event) => report.push("blocked " + event.blockedURI));
addEventListener("error", (event) => report.push("error " + event.message));
addEventListener("load", () => {
  const episodes = [...document.querySelectorAll("details.episode")];
  const shown = () => episodes.filter((episode) => episode.offsetParent !== null).length;
  const all = shown();
  document.querySelector('input[name="outcome"][value="failure"]').click();
  const failures = shown();
  document.querySelector('input[name="outcome"][value=""]').click();
  const search = document.getElementById("search");
  search.value = "no such words";
  search.dispatchEvent(new Event("input", { bubbles: true }));
  const nothing = [shown(), document.getElementById("none").hidden];
  search.value = "";
  search.dispatchEvent(new Event("input", { bubbles: true }));
  episodes[0].querySelector("summary").click();
  setTimeout(() => {
    const body = episodes[0].querySelector(".body");
    const video = body.querySelector("video");
    document.title = "RESULT" + JSON.stringify({
      all, failures, nothing, report,
      rows: body.querySelectorAll(".decisions tbody tr").length,
      bars: body.querySelectorAll(".timeline rect:not(.now)").length,
      text: body.textContent, images: document.querySelectorAll("img").length,
      video: video ? [video.videoWidth, video.duration] : null,
    });
  }, 1500);
});
</script>
"""


def look(page: Path, profile: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    """What a headless browser finds when it opens the page from the disk and uses it."""
    driven = page.with_name("driven.html")
    driven.write_text(page.read_text(encoding="utf-8").replace("<body>", f"<body>{_DRIVER}"), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    flags += [f"--user-data-dir={profile}", "--virtual-time-budget=8000"]
    monkeypatch.setenv("HOME", str(profile))
    found = subprocess.run(
        [
            str(CHROMIUM),
            *flags,
            f"--user-data-dir={profile}",
            "--virtual-time-budget=8000",
            "--dump-dom",
            driven.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "LANG": "C.UTF-8"},
    )
    title = re.search(r"<title>RESULT(.*?)</title>", found.stdout, re.DOTALL)
    assert title, found.stdout[:500]
    return json.loads(html.unescape(title[1]))


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed: apt-get install chromium")
def test_a_browser_opens_filters_and_plays_it(run_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_run(run_copy)
    record = run.episodes[0]
    rewrite_trace(run_copy, record.key, lambda data: data["decisions"][0].update(why=HOSTILE))
    list(film_episodes(run_copy, [record.key]))
    seen = look(write_report(run_copy), tmp_path / "profile", monkeypatch)
    assert seen["report"] == []
    assert seen["all"] == len(run.episodes)
    assert seen["failures"] == sum(record.status == "failure" for record in run.episodes)
    assert seen["nothing"] == [0, False]
    assert seen["rows"] == seen["bars"] == record.decisions
    assert HOSTILE in seen["text"]
    assert seen["images"] == 0
    width, duration = seen["video"]
    assert width == 256
    assert duration == pytest.approx((record.steps + 20) / 20, abs=0.2)
