"""The same games in AI2-THOR, for those who have it: an adapter around alfworld's own `AlfredThorEnv`.

AI2-THOR (``alfworld[vis]``, ai2thor 2.1.0) needs a display and downloads its simulator, so this project neither
installs nor tests it; the tests play the adapter on a fake of `AlfredThorEnv`.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ...errors import ContractError, MissingDependency, WorldError
from ..conventions import Camera, Conventions
from ..episodes import derive_seed
from ..observations import Observation
from ..texts import CHARSET
from .env import CAMERA, STEP_CAP
from .games import FolderGames, game_path

_PIXELS = 300
_TEXT = 8_192


def thor_settings(*, max_steps: int) -> dict[str, Any]:
    """The part of alfworld's ``base_config.yaml`` that `AlfredThorEnv` reads, with its oracle controller."""
    thor = {"screen_height": _PIXELS, "screen_width": _PIXELS, "smooth_nav": False, "save_frames_to_disk": False}
    unused = {"data_path": "", "eval_id_data_path": "", "eval_ood_data_path": ""}
    return {
        "env": {"thor": {**thor, "save_frames_path": ""}, "goal_desc_human_anns_prob": 0.0, "task_types": [1]},
        "controller": {"type": "oracle", "load_receps": True, "debug": False},
        "dataset": {**unused, "num_train_games": -1, "num_eval_games": -1},
        "general": {"training_method": "dqn"},
        "rl": {"training": {"max_nb_steps_per_episode": max_steps}},
    }


class AlfworldThorEnv(gym.Env[Observation, str]):
    """`AlfworldEnv`'s contract on `AlfredThorEnv`: one game at a time, chosen by task type and number.

    Args:
        games: the folder of the games; AI2-THOR builds their scenes from ``traj_data.json``.
        max_steps: steps before truncation.

    Raises:
        MissingDependency: ai2thor is not installed.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  gymnasium's own declaration

    def __init__(self, *, games: FolderGames, max_steps: int = STEP_CAP) -> None:
        try:
            module = importlib.import_module("alfworld.agents.environment.alfred_thor_env")
        except ImportError as error:
            raise MissingDependency(
                "ai2thor", purpose="ALFWorld in AI2-THOR", install="pip install 'alfworld[vis]==0.4.2'"
            ) from error
        self._games, self._max_steps, self._steps = games, max_steps, 0
        self._thor: Any = module.AlfredThorEnv(thor_settings(max_steps=max_steps), train_eval="train").init_env(1)
        self._info: dict[str, Any] = {}
        self._task = ""
        text = spaces.Text(_TEXT, min_length=0, charset=CHARSET)
        image = spaces.Box(0, 255, (_PIXELS, _PIXELS, 3), np.uint8)
        self.observation_space: spaces.Space[Any] = spaces.Dict(
            {"text": text, "task": text, "choices": spaces.Sequence(text), f"images.{CAMERA}": image}
        )
        self.action_space: spaces.Space[Any] = spaces.Text(256, min_length=0, charset=CHARSET)

    @property
    def conventions(self) -> Conventions:
        """The camera."""
        return Conventions(cameras=(Camera(name=CAMERA, height=_PIXELS, width=_PIXELS),))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin the game that ``options["task"]`` and ``options["init_state"]`` name.

        Raises:
            ContractError: the options name none.
            IdentityError: there is no such game.
            WorldError: AI2-THOR began another game, or none.
        """
        super().reset(seed=seed)
        if not options or options.get("task") is None or options.get("init_state") is None:
            raise ContractError("AI2-THOR's world needs options with a task type and a game number at reset.")
        path = game_path(self._games, str(options["task"]), int(options["init_state"]))
        trajectory = str(path.with_name("traj_data.json"))
        self._steps = 0
        # alfworld draws the game and its instruction from the process's own generator.
        state = random.getstate()
        random.seed(derive_seed("thor", trajectory, seed))
        try:
            self._thor.json_file_list = [trajectory]
            texts, infos = self._thor.reset()
        finally:
            random.setstate(state)
        if Path(infos["extra.gamefile"][0]) != path.parent:
            raise WorldError(f"AI2-THOR did not begin {path.parent}; its own output says why.")
        self._task = str(texts[0]).rpartition("Your task is to: ")[2].strip().rstrip(".")
        return self._observe(texts, infos), self._info

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Execute a command."""
        self._steps += 1
        texts, _, _, infos = self._thor.step([action])
        observation = self._observe(texts, infos)
        won = bool(self._info["is_success"])
        return observation, float(won), won, not won and self._steps >= self._max_steps, self._info

    def hold_action(self) -> str:
        """Looking around, which changes nothing."""
        return "look"

    def close(self) -> None:
        """Stop AI2-THOR."""
        self._thor.close()

    def _observe(self, texts: Any, infos: Mapping[str, Any]) -> Observation:
        choices = tuple(sorted(set(infos["admissible_commands"][0])))
        self._info = {
            "is_success": bool(infos["won"][0]),
            "admissible_commands": list(choices),
            "metrics": {"goal_condition_success": float(infos["goal_condition_success_rate"][0])},
        }
        # Its frames are blue, green, red.
        image = np.ascontiguousarray(self._thor.get_frames()[0][:, :, ::-1])
        return {"text": str(texts[0]), "task": self._task, "choices": choices, f"images.{CAMERA}": image}
