"""Maps, plans and baselines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.maps import Layer, read_map
from thinktwice.agents.navigation.baselines import NavigationOptions, build_frontier, build_random_walk, fits
from thinktwice.agents.navigation.drawing import record_map
from thinktwice.agents.navigation.geometry import Pose, points
from thinktwice.agents.navigation.mapping import FloorMap
from thinktwice.agents.navigation.oracle_path import OracleOptions, build_oracle_path
from thinktwice.agents.navigation.planning import Plan
from thinktwice.agents.navigation.steering import tilt_towards, turn_towards
from thinktwice.envs import EpisodeId, MultiStep
from thinktwice.envs.registration import ROOMS
from thinktwice.envs.rooms.actions import Move
from thinktwice.envs.rooms.env import RoomsEnv
from thinktwice.envs.rooms.queries import Query
from thinktwice.envs.rooms.scene import CAMERA_HEIGHT
from thinktwice.rollouts.episode import rollout


def test_the_optical_axis_meets_the_floor_where_trigonometry_says() -> None:
    pitch = -math.radians(30)
    depth = np.full((65, 65), CAMERA_HEIGHT / math.sin(math.radians(30)), np.float32)
    middle = points(depth, Pose(x=1, y=2, yaw=math.pi / 2, pitch=pitch))[32, 32]
    assert middle[2] == pytest.approx(0.0, abs=1e-5)
    assert middle[0] == pytest.approx(1.0, abs=1e-5)
    assert middle[1] == pytest.approx(2.0 + CAMERA_HEIGHT / math.tan(math.radians(30)), abs=1e-4)


def test_left_of_the_image_is_left_of_the_agent() -> None:
    cloud = points(np.full((64, 64), 2.0, np.float32), Pose(x=0, y=0, yaw=0, pitch=0))
    assert cloud[32, 0, 1] > 1.0
    assert cloud[0, 32, 2] > CAMERA_HEIGHT + 1.0


def test_turns_and_tilts_point_the_right_way() -> None:
    pose = Pose(x=0, y=0, yaw=0, pitch=0)
    assert turn_towards(pose, 0, 1) is Move.LEFT
    assert turn_towards(pose, 0, -1) is Move.RIGHT
    assert turn_towards(pose, 1, 0.1) is None
    assert tilt_towards(pose, 0.5) is Move.UP
    assert tilt_towards(pose, -0.5) is Move.DOWN
    assert tilt_towards(pose, 0.1) is None


def test_a_recorded_map_says_where_everything_is() -> None:
    floor, pose = FloorMap(), Pose(x=0.0, y=0.0, yaw=0.5, pitch=-0.35)
    floor.update(np.full((64, 64), 2.0, np.float32), pose)
    plan = Plan(floor, pose)
    recorded = read_map(record_map(plan, floor, pose, (0.3, 0.4), [(0.6, -0.5)]).notes())
    assert recorded is not None

    def layer(x: float, y: float) -> Layer:
        return Layer(int(recorded.cells[int((y - recorded.y) / recorded.cell), int((x - recorded.x) / recorded.cell)]))

    assert recorded.pose == (0.0, 0.0, 0.5)
    assert layer(0.0, 0.0) is Layer.FREE
    assert layer(0.3, 0.4) is Layer.GOAL
    assert layer(0.6, -0.5) is Layer.CANDIDATE
    assert all(layer(f.x, f.y) is Layer.FRONTIER for f in plan.frontiers() if math.hypot(f.x, f.y) > 1.5)
    assert recorded.cells[0].max() == Layer.UNKNOWN


@pytest.mark.parametrize(
    "notes",
    [
        {},
        {"map": "map.png"},
        {"map": np.zeros((4, 4, 3), np.uint8), "map_frame": {"x": 0, "y": 0, "cell": 1, "pose": [0, 0, 0]}},
        {"map": np.full((4, 4), 99, np.uint8), "map_frame": {"x": 0, "y": 0, "cell": 1, "pose": [0, 0, 0]}},
        {"map": np.zeros((4, 4), np.uint8), "map_frame": {"x": 0, "y": 0, "cell": 1, "pose": [0]}},
        {"map": np.zeros((4, 4), np.uint8), "map_frame": {"x": 0, "y": 0, "cell": 0, "pose": [0, 0, 0]}},
    ],
)
def test_notes_that_hold_no_map_of_this_kind_are_no_map(notes: dict[str, Any]) -> None:
    assert read_map(notes) is None


def test_the_map_s_memory_never_grows() -> None:
    floor = FloorMap()
    before = floor.nbytes
    for turn in range(50):
        pose = Pose(x=turn * 0.3 - 7, y=math.sin(turn) * 3, yaw=turn / 3, pitch=-0.35)
        floor.update(np.full((64, 64), 2.0, np.float32), pose)
    assert floor.nbytes == before


def test_labels_fit_by_kind_and_looks() -> None:
    goal = Query(kinds=("mug",), colour="red")
    assert fits(goal, "red mug")
    assert fits(goal, "large red ceramic mug")
    assert fits(goal, "mug")
    assert not fits(goal, "blue mug")
    assert not fits(goal, "red bowl")


@pytest.mark.sim
def test_a_look_around_finds_frontiers_and_paths_that_are_free(navigation_rooms: MultiStep) -> None:
    rooms = navigation_rooms.unwrapped
    assert isinstance(rooms, RoomsEnv)
    observation, _ = navigation_rooms.reset(seed=3, options={"task": "val/medium", "init_state": 2})
    floor = FloorMap()
    for _ in range(12):
        floor.update(observation["depth.front"], Pose.of(observation))
        observation, *_ = navigation_rooms.step([2])
    pose = Pose.of(observation)
    plan = Plan(floor, pose)
    frontiers = plan.frontiers()
    assert frontiers
    wrong = total = 0
    for frontier in frontiers:
        for x, y in plan.path(frontier.x, frontier.y)[2:]:
            total += 1
            wrong += not rooms.floor.free(rooms.scenario.x + x, rooms.scenario.y + y)
    assert total > 10
    assert wrong <= 0.05 * total


@pytest.mark.sim
@pytest.mark.parametrize("difficulty", ["easy", "hard"])
def test_the_oracle_path_succeeds_on_a_nearly_shortest_path(navigation_rooms: MultiStep, difficulty: str) -> None:
    agent = build_oracle_path(OracleOptions(), navigation_rooms)
    for index in range(3):
        episode = EpisodeId(world=ROOMS, task=f"val/{difficulty}", init_state=index, seed=index)
        steps = list(rollout(navigation_rooms, agent, episode))
        metrics = steps[-1].infos[-1]["metrics"]
        assert metrics["success"] == 1.0, (episode, steps[-1].decision.why)
        assert metrics["spl"] > 0.8
        assert metrics["jf"] == 1.0


@pytest.mark.sim
@pytest.mark.parametrize("build", [build_frontier, build_random_walk])
def test_the_searching_baselines_repeat_themselves(navigation_rooms: MultiStep, build: Any) -> None:
    agent = build(NavigationOptions(perception="oracle"), navigation_rooms)
    episode = EpisodeId(world=ROOMS, task="val/easy", init_state=0, seed=5)
    runs = [[step.decision.chunk for step in rollout(navigation_rooms, agent, episode)][:60] for _ in range(2)]
    assert runs[0] == runs[1]
