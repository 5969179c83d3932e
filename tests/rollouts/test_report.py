"""The report: what it says, that it fetches nothing, and that other people's text stays text."""

from __future__ import annotations

import base64
import dataclasses
import html.parser
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.cost import Cost
from thinktwice.errors import RecordError, UsageError
from thinktwice.rollouts import report_media
from thinktwice.rollouts.records import Run, open_run
from thinktwice.rollouts.report import write_report
from thinktwice.rollouts.report_decisions import plain_decision
from thinktwice.rollouts.report_details import MAX_DECISIONS, MAX_EPISODE, MAX_TEXT, episode_details
from thinktwice.rollouts.report_media import choose_media, filmstrip
from thinktwice.rollouts.report_pairs import KINDS, pair_runs
from thinktwice.rollouts.report_pictures import Budget, pictures_of
from thinktwice.rollouts.report_runs import write_side_by_side
from thinktwice.rollouts.traces import Trace, TracedDecision
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_command_writes_films_and_says_where(
    run_copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command.main([str(run_copy), "--video", "failures"]) == 0
    out = capsys.readouterr().out
    assert out.split() == [str(run_copy / "report.html")]
    run = open_run(run_copy)
    assert all(video_path(run, r.key).exists() == (r.status == "failure") for r in run.episodes)


def heavy(trace: Trace) -> Trace:
    """More than any agent says: long texts, pictures that cannot be compressed, and a choice among many candidates."""
    rng = np.random.default_rng(len(trace.actions))
    turns = [{"stage": "answer", "who": "model", "text": "words " * 300} for _ in range(5)]
    decisions = tuple(
        TracedDecision(
            index=index,
            mode="deliberate",
            why="because " * 50,
            doubt=0.5,
            chunk=np.zeros((1, 2), np.float32),
            executed=1,
            candidates=np.zeros((16, 1, 2), np.float32),
            chosen=1,
            preferences=np.full((16, 16), 0.5, np.float32),
            cost=Cost(candidates=16),
            seconds={"act": 0.1},
            text="said " * 350,
            notes={"transcript": turns, "seen.front": rng.integers(0, 255, (64, 64, 3)).astype(np.uint8)},
        )
        for index in range(40)
    )
    return dataclasses.replace(trace, decisions=decisions, states=None)


@pytest.mark.slow
def test_a_report_of_a_hundred_episodes_that_are_full_stays_below_thirty_megabytes(
    tmp_path: Path, config: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from thinktwice.rollouts import run

    folder = tmp_path / "run"
    run(config(folder, episodes=50))
    played = open_run(folder)
    assert len(played.episodes) == 100
    filled = heavy(played.trace(played.episodes[0].key))
    monkeypatch.setattr(Run, "trace", lambda self, key: filled)
    (folder / "videos").mkdir()
    for record in played.episodes:
        video_path(played, record.key).write_bytes(bytes(400_000))
    assert 15e6 < write_report(folder).stat().st_size < 30e6
    page = Page((folder / "report.html").read_text())
    details = {a["data-key"]: json.loads(text) for a, text in page.all("script", "details")}
    assert all(len(json.dumps(plain)) < 2 * MAX_EPISODE for plain in details.values())
    assert all(plain["cut"] for plain in details.values())
    left_out = {key for key, plain in details.items() if plain["pictures_left_out"]}
    failures = {record.key for record in played.episodes if record.status == "failure"}
    assert left_out
    assert not left_out & set([record.key for record in played.episodes if record.key in failures][:5])
    holders = {a["data-key"]: a["data-kind"] for a, _ in page.all("script", "media")}
    assert {"video", "link"} <= set(holders.values())


def test_equal_pictures_are_kept_once_and_all_or_none_of_an_episode(run_copy: Path) -> None:
    filled = heavy(open_run(run_copy).trace(open_run(run_copy).episodes[0].key))
    same = [dataclasses.replace(d, notes=filled.decisions[0].notes) for d in filled.decisions]
    assert len(pictures_of(same, Budget()).data) == 1
    budget = Budget(left=1000)
    nothing = pictures_of(filled.decisions, budget)
    assert (nothing.data, nothing.left_out, budget.left) == ((), len(filled.decisions), 1000)


def test_matches_of_a_tournament_fill_only_what_was_compared(run_copy: Path) -> None:
    decision = heavy(open_run(run_copy).trace(open_run(run_copy).episodes[0].key)).decisions[0]
    matches = np.array([[2, 0, 0.9], [0, 1, 0.25]], np.float32)
    told = dataclasses.replace(
        decision, candidates=decision.candidates[:3], preferences=None, notes={"matches": matches}
    )
    assert plain_decision(told, (), limit=100)["preferences"] == [25, 10, None]
    assert "preferences" not in plain_decision(dataclasses.replace(told, notes={}), (), limit=100)


def test_discrete_actions_are_named(run_copy: Path) -> None:
    decision = heavy(open_run(run_copy).trace(open_run(run_copy).episodes[0].key)).decisions[0]
    moved = dataclasses.replace(decision, chunk=np.array([1]), candidates=[])
    assert plain_decision(moved, (), names=["stop", "left"], limit=100)["actions"] == ["left"]
    assert plain_decision(moved, (), limit=100)["actions"] == ["1"]


@pytest.mark.slow
def test_pairs_begin_with_what_makes_the_difference(run_copy: Path, tmp_path: Path, config: Callable[..., Any]) -> None:
    from thinktwice.rollouts import run

    run(config(tmp_path / "b", agent_options={"skill": 0.7}, world_options={"crash": "0:1"}))
    a, b = open_run(run_copy), open_run(tmp_path / "b")
    pairing = pair_runs(a, b)
    kinds = [pair.kind for pair in pairing.pairs]
    assert kinds == sorted(kinds, key=list(KINDS).index)
    assert pairing.count("error") == 1
    assert pairing.comparison is not None
    assert pairing.count("rescue") == pairing.comparison.only_b
    assert pairing.count("spoil") == pairing.comparison.only_a
    run(config(tmp_path / "c", world_options={"cap": 9}))
    refused = pair_runs(a, open_run(tmp_path / "c"))
    assert refused.comparison is None
    assert "world.cap" in refused.refused
    assert len(refused.pairs) == 8
    page = Page(write_side_by_side([run_copy, tmp_path / "b", tmp_path / "c"], tmp_path / "runs.html").read_text())
    assert not page._open
    assert "world.cap" in " ".join(text for _, text in page.all("p", "notice"))
