"""Room-to-Room: the standard files, the measures, the walk, and the synthetic houses."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image

from thinktwice.agents import ReflexAgent
from thinktwice.agents.text.policies import build_admissible, build_planner
from thinktwice.envs import MultiStep
from thinktwice.envs.conformance import check_world
from thinktwice.envs.r2r.env import R2REnv
from thinktwice.envs.r2r.graph import Scan, read_scan
from thinktwice.envs.r2r.house import SyntheticRoutes
from thinktwice.envs.r2r.metrics import measures
from thinktwice.envs.r2r.routes import FileRoutes
from thinktwice.envs.r2r.world import R2ROptions, open_r2r
from thinktwice.errors import ContractError, IdentityError, UsageError
from thinktwice.rollouts.episode import rollout


def line(count: int = 5, step: float = 2.0) -> Scan:
    """Viewpoints in a row, ``step`` metres apart."""
    names = [f"p{index}" for index in range(count)]
    points = {name: np.array([0.0, step * index, 0.0]) for index, name in enumerate(names)}
    return Scan(name="line", points=points, edges=tuple(itertools.pairwise(names)))


def connectivity(scan: Scan, *, excluded: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """A scan in Matterport3DSimulator's form."""
    names = sorted(scan.points)
    linked = {*scan.edges, *((b, a) for a, b in scan.edges)}
    return [
        {
            "image_id": name,
            "pose": [
                1,
                0,
                0,
                scan.points[name][0],
                0,
                1,
                0,
                scan.points[name][1],
                0,
                0,
                1,
                scan.points[name][2],
                0,
                0,
                0,
                1,
            ],
            "included": name not in excluded,
            "visible": [True] * len(names),
            "unobstructed": [(name, other) in linked for other in names],
            "height": 1.5,
        }
        for name in names
    ]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """R2R files of one scan and two paths."""
    (tmp_path / "connectivity").mkdir()
    (tmp_path / "connectivity" / "line_connectivity.json").write_text(json.dumps(connectivity(line())))
    routes = [
        {
            "path_id": 7,
            "scan": "line",
            "heading": 0.0,
            "distance": 8.0,
            "path": ["p0", "p1", "p2", "p3", "p4"],
            "instructions": ["Walk to the end.", "Go straight – to the café.", "Straight on."],
        },
        {
            "path_id": 9,
            "scan": "line",
            "heading": 3.14159,
            "distance": 4.0,
            "path": ["p3", "p2", "p1"],
            "instructions": ["Back."],
        },
    ]
    (tmp_path / "R2R_val_unseen.json").write_text(json.dumps(routes))
    return tmp_path


def test_the_standard_files_load_and_their_distances_hold(data: Path) -> None:
    routes = FileRoutes(folder=data, connectivity=data / "connectivity", split="val_unseen")
    assert routes.numbers() == (70, 71, 72, 90)
    route = routes.load(71)
    assert route.instruction == "Go straight – to the café."
    assert route.scan.length(route.path) == pytest.approx(8.0)
    assert route.scan.distance("p0", "p4") == pytest.approx(8.0)


def test_excluded_viewpoints_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "line_connectivity.json").write_text(json.dumps(connectivity(line(), excluded=("p2",))))
    scan = read_scan("line", tmp_path)
    assert sorted(scan.points) == ["p0", "p1", "p3", "p4"]
    with pytest.raises(UsageError, match="no way"):
        scan.distance("p0", "p4")
    with pytest.raises(UsageError, match="no way"):
        scan.shortest_path("p0", "p4")


def test_the_reference_way_scores_full_marks() -> None:
    path = ["p0", "p1", "p2", "p3"]
    assert measures(line(), path, path, stopped=True) == {"ne": 0.0, "sr": 1.0, "osr": 1.0, "spl": 1.0, "ndtw": 1.0}


def test_reaching_the_goal_without_stopping_is_no_success() -> None:
    path = ["p0", "p1", "p2", "p3"]
    found = measures(line(), path, path, stopped=False)
    assert (found["sr"], found["spl"], found["osr"], found["ne"]) == (0.0, 0.0, 1.0, 0.0)


def test_passing_the_goal_counts_only_for_the_oracle_measure() -> None:
    found = measures(line(), ["p0", "p1", "p2", "p3", "p4"], ["p0", "p1", "p2"], stopped=True)
    assert found["ne"] == pytest.approx(4.0)
    assert (found["sr"], found["osr"]) == (0.0, 1.0)


def test_a_detour_costs_efficiency_and_fidelity() -> None:
    found = measures(line(), ["p0", "p1", "p0", "p1", "p2"], ["p0", "p1", "p2"], stopped=True)
    assert found["sr"] == 1.0
    assert found["spl"] == pytest.approx(4 / 8)
    # Two visits are 0 m and two are 2 m from their partners in the best alignment, on 3 reference viewpoints.
    assert found["ndtw"] == pytest.approx(np.exp(-2 / 9))


def test_three_metres_are_not_less_than_three_metres() -> None:
    found = measures(line(step=3.0), ["p0"], ["p0", "p1"], stopped=True)
    assert found["ne"] == pytest.approx(3.0)
    assert (found["sr"], found["osr"]) == (0.0, 0.0)


def test_staying_where_start_and_goal_are_one_is_efficient() -> None:
    assert measures(line(), ["p1"], ["p1"], stopped=True)["spl"] == 1.0


def test_the_worlds_keep_the_contract(data: Path) -> None:
    check_world(open_r2r("r2r", R2ROptions(routes=3)))
    check_world(open_r2r("r2r", R2ROptions(data=data)))


@pytest.mark.parametrize("source", ["synthetic", "files"])
def test_the_shortest_path_agent_scores_full_marks(source: str, data: Path) -> None:
    world = open_r2r("r2r", R2ROptions(routes=8) if source == "synthetic" else R2ROptions(data=data))
    env = world.make()
    agent = ReflexAgent(build_planner("", env))
    for episode in world.episodes(tasks=world.tasks(), count=4, seed=0):
        *_, last = rollout(MultiStep(env), agent, episode)
        metrics = last.infos[-1]["metrics"]
        assert last.success
        assert (metrics["ne"], metrics["sr"], metrics["osr"]) == (0.0, 1.0, 1.0)
        assert metrics["spl"] == pytest.approx(1.0)
        assert metrics["ndtw"] == pytest.approx(1.0)


def test_directions_are_the_agents_own(data: Path) -> None:
    env = R2REnv(routes=FileRoutes(folder=data, connectivity=data / "connectivity", split="val_unseen"))
    ahead, _ = env.reset(seed=0, options={"task": "val_unseen", "init_state": 70})
    assert ahead["choices"] == ("go 1", "stop")
    assert "Way 1 leads ahead, 2 metres." in ahead["text"]
    # Facing south at p3: p2 lies ahead and p4 behind, in the order of a clockwise look around.
    south, _ = env.reset(seed=0, options={"task": "val_unseen", "init_state": 90})
    ways = [row for row in south["text"].splitlines() if row.startswith("Way")]
    assert [row.split(" leads ")[1].split(",")[0] for row in ways] == ["ahead", "behind"]


def test_the_cap_truncates_and_an_unknown_action_changes_nothing() -> None:
    env = R2REnv(routes=SyntheticRoutes(count=1), max_steps=2)
    before, info = env.reset(seed=0)
    observation, *_ = env.step("fly")
    assert observation["text"].startswith("Nothing happens.")
    assert observation["choices"] == before["choices"]
    _, _, terminated, truncated, info = env.step("go 1")
    assert (terminated, truncated, info["is_success"]) == (False, True, False)
    assert info["metrics"]["sr"] == 0.0
    with pytest.raises(ContractError, match="ended"):
        env.step("stop")


def test_annotations_and_images_are_shown(data: Path, tmp_path: Path) -> None:
    notes = {"line": {"p1": [{"label": "piano", "share": 0.1}]}}
    (data / "notes.json").write_text(json.dumps(notes))
    folder = tmp_path / "images" / "line"
    folder.mkdir(parents=True)
    for index in range(5):
        Image.new("RGB", (6, 4), (index, 0, 0)).save(folder / f"p{index}.png")
    world = open_r2r("r2r", R2ROptions(data=data, annotations=data / "notes.json", images=tmp_path / "images"))
    check_world(world)
    env = world.make()
    observation, _ = env.reset(options={"task": "val_unseen", "init_state": 70})
    assert "Towards go 1 you see a piano." in observation["text"]
    assert observation["images.front"].shape == (4, 6, 3)
    assert env.step("go 1")[0]["images.front"][0, 0, 0] == 1


@pytest.mark.slow
def test_synthetic_houses_have_floors_and_repeat_in_every_process() -> None:
    routes = SyntheticRoutes(count=6, floors=3)
    heights = {float(point[2]) for point in routes.load(0).scan.points.values()}
    assert heights == {0.0, 3.0, 6.0}
    code = (
        "from thinktwice.envs.r2r.house import SyntheticRoutes as S;"
        "r = S(count=6, floors=3); print([(r.load(n).instruction, r.load(n).path) for n in (5, 0)])"
    )
    for hash_seed in ("0", "3"):
        result = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True
        )
        assert result.stdout.strip() == str([(routes.load(n).instruction, routes.load(n).path) for n in (5, 0)])


def test_instructions_name_the_landmarks_on_the_way_in_order() -> None:
    routes = SyntheticRoutes(count=5)
    for number in routes.numbers():
        route = routes.load(number)
        marks = [routes.sights(route.scan.name, viewpoint)[0].label for viewpoint in route.path[1:]]
        places = [route.instruction.lower().index(f"the {mark} ") for mark in marks]
        assert places == sorted(places)
        assert route.scan.length(route.path) == pytest.approx(route.scan.distance(route.path[0], route.path[-1]))


def test_the_floor_is_far_below_the_ceiling() -> None:
    world = open_r2r("r2r", R2ROptions(routes=6))
    env = world.make()
    assert isinstance(env, gym.Env)
    agent = ReflexAgent(build_admissible("", env))
    ends = [
        list(rollout(MultiStep(env), agent, e))[-1].success
        for e in world.episodes(tasks=["synthetic"], count=6, seed=0)
    ]
    assert sum(ends) < 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (R2ROptions(data=Path("/nowhere")), "no .*R2R_val_unseen.json"),
        (R2ROptions(max_steps=0), "max_steps"),
        (R2ROptions(width=1), "width"),
    ],
)
def test_impossible_options_are_refused(options: R2ROptions, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_r2r("r2r", options)


def test_files_of_another_form_are_refused(data: Path) -> None:
    (data / "R2R_test.json").write_text('[{"path_id": 1, "instructions": ["x"]}]')
    with pytest.raises(UsageError, match="test split"):
        open_r2r("r2r", R2ROptions(data=data, split="test"))
    (data / "connectivity" / "line_connectivity.json").write_text('[{"image_id": "p0"}]')
    world = open_r2r("r2r", R2ROptions(data=data, connectivity=data / "connectivity"))
    with pytest.raises((UsageError, IdentityError)):
        world.routes.load(70)
    with pytest.raises(IdentityError, match="no route 5"):
        world.routes.load(5)
