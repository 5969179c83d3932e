"""``thinktwice/R2R-v0``: a walk over a graph of viewpoints."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ...errors import ContractError, IdentityError, UsageError
from ..conventions import Camera, Conventions, Dim
from ..observations import Observation
from ..texts import CHARSET
from .house import SyntheticRoutes
from .metrics import SUCCESS_RADIUS, measures
from .routes import Route, RouteSet, Sight

STOP = "stop"
STEP_CAP = 30
"""Actions before an episode is cut off; R2R's own paths have at most 7 edges."""

_TURNS = ("ahead", "ahead to the right", "to the right", "behind to the right",
          "behind", "behind to the left", "to the left", "ahead to the left")  # fmt: skip


class R2REnv(gym.Env[Observation, str]):
    """Actions are ``"go 1"``, ``"go 2"``, … for the neighbours, clockwise from straight ahead, and ``"stop"``.

    After a step the agent faces the way it walked.  Any other action changes nothing, and the step counts.  The
    reward is 1 for stopping within 3 m of the goal.  ``text`` lists what is annotated in every direction.

    ``reset(options={"task": split, "init_state": number})`` chooses the route; without options the seed draws one.

    Args:
        routes: which routes there are; by default 100 synthetic ones.
        max_steps: steps before truncation.

    Raises:
        UsageError: ``max_steps`` is less than 1.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  gymnasium's own declaration

    def __init__(self, *, routes: RouteSet | None = None, max_steps: int = STEP_CAP) -> None:
        if max_steps < 1:
            raise UsageError(f"max_steps must be at least 1, got {max_steps}.")
        self._routes: RouteSet = SyntheticRoutes() if routes is None else routes
        self._max_steps = max_steps
        self._route: Route | None = None
        self._path: list[str] = []
        self._steps, self._stopped, self._heading = 0, False, 0.0
        self._said = ""
        image = self._first_image()
        self._shape = None if image is None else (int(image.shape[0]), int(image.shape[1]))
        text = spaces.Text(20_000, min_length=0, charset=CHARSET)
        self.observation_space: spaces.Space[Any] = spaces.Dict(
            {
                "text": text,
                "task": text,
                "choices": spaces.Sequence(text),
                "state": spaces.Box(-2 * np.pi, 2 * np.pi, (2,), np.float32),
                **({} if image is None else {"images.front": spaces.Box(0, 255, image.shape, np.uint8)}),
            }
        )
        self.action_space: spaces.Space[Any] = spaces.Text(64, min_length=0, charset=CHARSET)

    @property
    def conventions(self) -> Conventions:
        """Heading and elevation, and the camera where there are images."""
        cameras = () if self._shape is None else (Camera(name="front", height=self._shape[0], width=self._shape[1]),)
        return Conventions(
            cameras=cameras,
            state=(
                Dim(name="heading", size=1, unit="rad", frame="world", representation="absolute", positive="clockwise"),
                Dim(name="elevation", size=1, unit="rad", frame="agent", representation="absolute", positive="up"),
            ),
        )

    @property
    def route(self) -> Route:
        """The route that is being walked.

        Raises:
            ContractError: none was started.
        """
        if self._route is None:
            raise ContractError("there is no route yet; call reset first.")
        return self._route

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin the route that the options name, or one that the seed draws.

        Raises:
            IdentityError: there is no such split or route.
        """
        super().reset(seed=seed)
        chosen = options or {}
        if chosen.get("task") not in (None, self._routes.name):
            raise IdentityError(f"there is no split {chosen['task']!r} here, only {self._routes.name!r}.")
        numbers = self._routes.numbers()
        number = chosen.get("init_state")
        drawn = numbers[int(self.np_random.integers(len(numbers)))] if number is None else int(number)
        self._begin(self._routes.load(drawn))
        return self._observation(), self._info()

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Walk, or stop.

        Raises:
            ContractError: no route was started, or it is over.
        """
        if self._ended():
            raise ContractError("step was called after the episode ended; call reset first.")
        self._steps += 1
        self._move(action)
        return self._observation(), float(self._arrived()), self._stopped, self._cut(), self._info()

    def hold_action(self) -> str:
        """Saying nothing, which changes nothing."""
        return "wait"

    def plan(self) -> tuple[str, ...]:
        """The actions of the shortest way to the goal, with the stop.  Privileged."""
        if self._stopped:
            return ()
        rest = self.route.scan.shortest_path(self._path[-1], self.route.path[-1])
        heading, actions = self._heading, list[str]()
        for here, there in itertools.pairwise(rest):
            actions.append(f"go {1 + self._ways(here, heading).index(there)}")
            heading = self._bearing(here, there)
        return (*actions, STOP)

    def directions(self) -> Mapping[str, list[Sight]]:
        """What is annotated in the direction of every choice, and under ``"here"`` where the agent stands."""
        here, ways = self._path[-1], self._ways(self._path[-1], self._heading)
        sights = self._routes.sights
        name = self.route.scan.name
        around = {f"go {place}": list(sights(name, way)) for place, way in enumerate(ways, start=1)}
        return {"here": list(sights(name, here)), **around}

    def labels(self) -> Sequence[str]:
        """Every label that the routes' annotations use."""
        return self._routes.labels()

    def save_state(self) -> tuple[Route, tuple[str, ...], int, bool, float, str]:
        """Everything that decides the future."""
        return self.route, tuple(self._path), self._steps, self._stopped, self._heading, self._said

    def restore_state(self, state: tuple[Route, tuple[str, ...], int, bool, float, str]) -> None:
        """Put the walk back."""
        self._route, path, self._steps, self._stopped, self._heading, self._said = state
        self._path = list(path)

    def _begin(self, route: Route) -> None:
        self._route, self._path, self._heading = route, [route.path[0]], route.heading
        self._steps, self._stopped, self._said = 0, False, "You stand at the beginning."

    def _move(self, action: str) -> None:
        here = self._path[-1]
        ways = self._ways(here, self._heading)
        moves = {f"go {place}": way for place, way in enumerate(ways, start=1)}
        if action == STOP:
            self._stopped, self._said = True, "You stop."
        elif action in moves:
            there = moves[action]
            self._said = f"You walk {self._direction(here, there)} and arrive."
            self._heading = self._bearing(here, there)
            self._path.append(there)
        else:
            self._said = "Nothing happens."

    def _ways(self, here: str, heading: float) -> list[str]:
        """The neighbours, clockwise from straight ahead."""
        return sorted(
            self.route.scan.neighbours(here),
            # Rounded, so that a hair's breadth to the left of straight ahead is not a full turn to the right.
            key=lambda there: (round((self._bearing(here, there) - heading) / (2 * np.pi), 4) % 1, there),
        )

    def _bearing(self, here: str, there: str) -> float:
        """Radians clockwise from +y."""
        east, north, _ = self.route.scan.points[there] - self.route.scan.points[here]
        return float(np.arctan2(east, north)) % (2 * np.pi)

    def _direction(self, here: str, there: str) -> str:
        turn = (self._bearing(here, there) - self._heading) % (2 * np.pi)
        climb = self.route.scan.points[there][2] - self.route.scan.points[here][2]
        stairs = " up the stairs" if climb > 1 else " down the stairs" if climb < -1 else ""
        return _TURNS[round(turn / (np.pi / 4)) % 8] + stairs

    def _arrived(self) -> bool:
        goal = self.route.path[-1]
        return self._stopped and self.route.scan.distance(self._path[-1], goal) < SUCCESS_RADIUS

    def _cut(self) -> bool:
        return not self._stopped and self._steps >= self._max_steps

    def _ended(self) -> bool:
        return bool(self.route) and (self._stopped or self._cut())

    def _observation(self) -> Observation:
        here = self._path[-1]
        ways = self._ways(here, self._heading)
        choices = (*(f"go {place}" for place in range(1, len(ways) + 1)), STOP)
        lines = [self._said]
        seen = self.directions()
        if any(seen.values()):
            lines.append(f"Here you see {_listed(seen['here'])}.")
        for place, way in enumerate(ways, start=1):
            distance = np.linalg.norm(self.route.scan.points[way] - self.route.scan.points[here])
            lines.append(f"Way {place} leads {self._direction(here, way)}, {distance:.0f} metres.")
            if seen[f"go {place}"]:
                lines.append(f"Towards go {place} you see {_listed(seen[f'go {place}'])}.")
        observation: dict[str, Any] = {
            "text": "\n".join(lines),
            "task": self.route.instruction,
            "choices": choices,
            "state": np.array([self._heading, 0.0], np.float32),
        }
        image = self._routes.image(self.route.scan.name, here)
        return observation if image is None else {**observation, "images.front": image}

    def _info(self) -> dict[str, Any]:
        scan, path = self.route.scan, self.route.path
        info: dict[str, Any] = {
            "is_success": self._arrived(),
            "scan": scan.name,
            "viewpoint": self._path[-1],
            "distance_to_goal": scan.distance(self._path[-1], path[-1]),
        }
        if self._ended():
            info["metrics"] = measures(scan, self._path, path, stopped=self._stopped)
        return info

    def _first_image(self) -> Any:
        route = self._routes.load(self._routes.numbers()[0])
        return self._routes.image(route.scan.name, route.path[0])


def _listed(sights: list[Sight]) -> str:
    return ", ".join(f"a {sight.label}" for sight in sights) or "nothing"
