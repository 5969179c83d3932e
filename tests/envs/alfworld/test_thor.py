"""The adapter for AI2-THOR, on a fake of alfworld's `AlfredThorEnv`, and its error where ai2thor is missing."""

import importlib.util
import random
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.envs import MultiStep
from thinktwice.envs.alfworld.games import FolderGames
from thinktwice.envs.alfworld.generator import GeneratedGames, write_games
from thinktwice.envs.alfworld.world import AlfworldOptions, open_alfworld
from thinktwice.errors import ContractError, MissingDependency, UsageError, WorldError

TASK = "pick_and_place_simple"


class FakeThor:
    """As much of `AlfredThorEnv` as the adapter calls: it draws its game from the global generator, as that does."""

    stuck = False

    def __init__(self, config: dict[str, Any], train_eval: str) -> None:
        assert config["env"]["thor"]["screen_height"] == 300
        self.json_file_list: list[str] = []
        self.steps = 0

    def init_env(self, batch_size: int) -> "FakeThor":
        assert batch_size == 1
        return self

    def reset(self) -> tuple[list[str], dict[str, Any]]:
        self.game, self.steps = random.sample(self.json_file_list, k=1)[0], 0
        return [
            f"Hello.\n\nYour task is to: {random.choice(['put a mug in desk', 'put some mug on desk'])}."
        ], self.info()

    def step(self, actions: list[str]) -> tuple[list[str], None, list[bool], dict[str, Any]]:
        self.steps += 1
        return [f"You {actions[0]}."], None, [False], self.info()

    def info(self) -> dict[str, Any]:
        return {
            "admissible_commands": [["look", "go to desk 1", "look"]],
            "won": [self.steps == 2],
            "goal_condition_success_rate": [self.steps / 2],
            "extra.gamefile": ["elsewhere" if self.stuck else str(Path(self.game).parent)],
        }

    def get_frames(self) -> Any:
        frame = np.zeros((1, 300, 300, 3), np.uint8)
        frame[..., 0] = 200
        return frame

    def close(self) -> None:
        pass


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    module = types.ModuleType("alfworld.agents.environment.alfred_thor_env")
    module.AlfredThorEnv = FakeThor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    write_games(GeneratedGames(per_type=1), tmp_path, split="valid_seen")
    return open_alfworld("alfworld", AlfworldOptions(games=tmp_path, game_engine="thor"))


def test_the_same_game_and_instruction_for_the_same_episode(world: Any) -> None:
    env = world.make()
    (episode,) = world.episodes(tasks=[TASK], count=1, seed=0)
    random.seed(1)
    before = random.getstate()
    first, _ = env.reset(seed=episode.seed, options=episode.options())
    assert random.getstate() == before
    random.seed(2)
    again, _ = env.reset(seed=episode.seed, options=episode.options())
    assert first["task"] == again["task"] in ("put a mug in desk", "put some mug on desk")
    assert first["choices"] == ("go to desk 1", "look")
    assert first["images.front"][0, 0].tolist() == [0, 0, 200]
    assert env.observation_space.contains(first)


def test_winning_ends_the_episode(world: Any) -> None:
    env = MultiStep(world.make())
    (episode,) = world.episodes(tasks=[TASK], count=1, seed=0)
    env.reset(seed=episode.seed, options=episode.options())
    _, reward, terminated, truncated, info = env.step(["look", "go to desk 1", "look"])
    assert (reward, terminated, truncated, info["is_success"]) == (1.0, True, False, True)
    assert len(info["steps"]) == 2
    assert info["metrics"] == {"goal_condition_success": 1.0}


def test_another_game_than_asked_for_is_an_error(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    env = world.make()
    (episode,) = world.episodes(tasks=[TASK], count=1, seed=0)
    monkeypatch.setattr(FakeThor, "stuck", True)
    with pytest.raises(WorldError, match="did not begin"):
        env.reset(seed=0, options=episode.options())
    with pytest.raises(ContractError, match="options"):
        env.reset(seed=0)


def test_generated_games_have_no_scenes() -> None:
    with pytest.raises(UsageError, match="no scenes"):
        open_alfworld("alfworld", AlfworldOptions(game_engine="thor")).make()


@pytest.mark.skipif(importlib.util.find_spec("ai2thor") is not None, reason="ai2thor is installed")
def test_a_missing_ai2thor_is_named_with_its_install_command(tmp_path: Path) -> None:
    write_games(GeneratedGames(per_type=1), tmp_path, split="valid_seen")
    world = open_alfworld("alfworld", AlfworldOptions(games=tmp_path, game_engine="thor"))
    assert isinstance(world.games, FolderGames)
    with pytest.raises(MissingDependency, match=r"alfworld\[vis\]"):
        world.make()
