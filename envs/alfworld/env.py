"""``thinktwice/ALFWorld-v0``: one household task in text, with the images that the agent would see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ...errors import ContractError, IdentityError, UsageError
from ..conventions import Camera, Conventions
from ..observations import Observation
from ..texts import CHARSET
from .engine import Engine, EngineName, Reply, make_engine
from .games import TASK_TYPES, Game, GameSet
from .generator import GeneratedGames
from .planner import PlannedStep, Planner
from .view import Segmentation, View

STEP_CAP = 50
"""Steps before an episode is cut off, as in ALFWorld's evaluation (Shridhar et al., ICLR 2021)."""

CAMERA = "front"

_LONGEST_TEXT = 8_192
_LONGEST_COMMAND = 256


class AlfworldEnv(gym.Env[Observation, str]):
    """One game at a time.

    An inadmissible command changes nothing, as in ALFWorld: the game says "Nothing happens.", the step counts, and
    ``info["metrics"]["inadmissible_commands"]`` counts it at the end.  The reward is 1 when the goal is reached.

    ``reset(options={"task": task type, "init_state": game number})`` chooses the game (`Game.number`); without
    options the seed draws one.

    Args:
        games: which games there are; by default 50 generated ones of each type.
        engine: ``"compiled"``, or ``"stock"`` for alfworld's own stack, which gives the same replies slower.
        max_steps: steps before truncation.
        images: whether observations show ``images.front``, drawn from the game's facts.
        size: pixels of its sides.

    Raises:
        UsageError: ``max_steps`` or ``size`` is less than 1.
        MissingDependency: alfworld is not installed.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  gymnasium's own declaration

    def __init__(
        self,
        *,
        games: GameSet | None = None,
        engine: EngineName = "compiled",
        max_steps: int = STEP_CAP,
        images: bool = True,
        size: int = 300,
    ) -> None:
        if max_steps < 1 or size < 1:
            raise UsageError(f"max_steps and size must be at least 1, got {max_steps} and {size}.")
        self._games: GameSet = GeneratedGames() if games is None else games
        self._engine: Engine = make_engine(engine)
        self._max_steps = max_steps
        self._size = size if images else 0
        self._view: View | None = None
        self._planner: Planner | None = None
        self._game: Game | None = None
        self._reply: Reply | None = None
        self._commands: list[str] = []
        self._inadmissible = 0
        self._plan: tuple[PlannedStep, ...] = ()
        text = spaces.Text(_LONGEST_TEXT, min_length=0, charset=CHARSET)
        seen = {f"images.{CAMERA}": spaces.Box(0, 255, (size, size, 3), np.uint8)} if images else {}
        self.observation_space: spaces.Space[Any] = spaces.Dict(
            {"text": text, "task": text, "choices": spaces.Sequence(text), **seen}
        )
        self.action_space: spaces.Space[Any] = spaces.Text(_LONGEST_COMMAND, min_length=0, charset=CHARSET)

    @property
    def conventions(self) -> Conventions:
        """Which cameras there are."""
        size = self._size
        return Conventions(cameras=(Camera(name=CAMERA, height=size, width=size),) if size else ())

    @property
    def game(self) -> Game:
        """The game that is being played.

        Raises:
            ContractError: no game was started.
        """
        if self._game is None:
            raise ContractError("there is no game yet; call reset first.")
        return self._game

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin the game that the options name, or one that the seed draws.

        Raises:
            IdentityError: there is no such game.
        """
        super().reset(seed=seed)
        task_type, number = self._chosen(options or {})
        self._start(self._games.load(task_type, number))
        return self._observation(), self._info()

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Execute a command.

        Raises:
            ContractError: no game was started, or it is over.
        """
        if self._ended():
            raise ContractError("step was called after the episode ended; call reset first.")
        self._execute(action)
        won = self._said.won
        truncated = not won and len(self._commands) >= self._max_steps
        return self._observation(), float(won), won, truncated, self._info()

    def hold_action(self) -> str:
        """Looking around, which is always admissible and changes nothing."""
        return "look"

    def plan(self) -> tuple[str, ...]:
        """The planner's commands from here to the goal; none when it cannot be reached.  Privileged."""
        if self._planner is None:
            self._planner = Planner()
        if not self._plan:
            self._plan = self._planner.plan(self.game, self._engine)
        return tuple(step.command for step in self._plan)

    def segmentation(self) -> Segmentation:
        """Which entity every pixel of the present image shows.  Privileged.

        Raises:
            ContractError: no game was started, or the world shows no images.
            WorldError: no GL context can be made.
        """
        return self._drawn().segmentation()

    def save_state(self) -> tuple[Game, tuple[str, ...]]:
        """The game and what was executed in it."""
        return self.game, tuple(self._commands)

    def restore_state(self, state: tuple[Game, tuple[str, ...]]) -> None:
        """Play the saved commands again; games are deterministic."""
        game, commands = state
        self._start(game)
        for command in commands:
            self._execute(command)

    def close(self) -> None:
        """Free the view and the planner."""
        self._forget_view()
        self._planner = None

    @property
    def _said(self) -> Reply:
        if self._reply is None:
            raise ContractError("there is no game yet; call reset first.")
        return self._reply

    def _chosen(self, options: Mapping[str, Any]) -> tuple[str, int]:
        task_type, number = options.get("task"), options.get("init_state")
        if task_type is None:
            types = [kind for kind in TASK_TYPES if self._games.numbers(kind)]
            task_type = types[int(self.np_random.integers(len(types)))]
        numbers = self._games.numbers(str(task_type))
        if number is None and not numbers:
            raise IdentityError(f"this set has no game of type {task_type}.")
        return str(task_type), numbers[int(self.np_random.integers(len(numbers)))] if number is None else int(number)

    def _start(self, game: Game) -> None:
        self._forget_view()
        self._game, self._reply = game, self._engine.start(game)
        self._commands, self._inadmissible, self._plan = [], 0, ()
        if self._size:
            self._view = View(self._engine, size=self._size)

    def _drawn(self) -> View:
        if self._view is None:
            raise ContractError("there is no view: call reset first, and make the world with images.")
        return self._view

    def _forget_view(self) -> None:
        if self._view is not None:
            self._view.close()
            self._view = None

    def _execute(self, command: str) -> None:
        self._reply = self._engine.step(command)
        if self._view is not None:
            self._view.follow()
        self._commands.append(command)
        self._inadmissible += int(not self._reply.operator)
        # A plan stays good as long as its own steps are what is executed.
        followed = bool(self._plan) and self._plan[0].operator == self._reply.operator
        self._plan = self._plan[1:] if followed else ()

    def _ended(self) -> bool:
        return self._said.won or len(self._commands) >= self._max_steps

    def _observation(self) -> Observation:
        text = {"text": self._said.text, "task": self.game.goal, "choices": self._said.commands}
        return {**text, f"images.{CAMERA}": self._view.image()} if self._view is not None else text

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {
            "is_success": self._said.won,
            "admissible_commands": list(self._said.commands),
            "game": {"sha256": self.game.sha256, "source": self.game.source, "grammar_rebuilt": self.game.rebuilt},
        }
        if self._ended():
            info["metrics"] = {"inadmissible_commands": float(self._inadmissible)}
        return info
