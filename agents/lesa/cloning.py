"""Behaviour cloning of exploration: a conditional logit over map features, fitted to the data set's choices.

``python -m thinktwice.agents.lesa.cloning --data DIR --out FILE`` fits the weights; `ClonedReasoner` chooses by them
and never calls a model.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path

import numpy as np
import torch
import tyro
from numpy.typing import NDArray
from pydantic import TypeAdapter
from rich.console import Console

from ...cost import Cost
from ...envs import Array
from ...envs.rooms.queries import Query
from ...errors import RecordError, WeightsError
from ...perception.reasoner import Facts, Option, Reasoner, Reply, Verdict
from ...perception.reasoner_rules import RuleReasoner, likelihood
from .rvas import RvasEpisode, read_rvas

FEATURES = ("distance", "log distance", "size", "likely room", "room unknown", "container", "wanted container")
_FREE = Cost()
_QUERY = TypeAdapter(Query)
_OPTIONS = TypeAdapter(list[Option])


def features(goal: Query, option: Option) -> NDArray[np.float64]:
    """``float64[7]``, in the order of `FEATURES`."""
    wanted = bool(option.container) and goal.relation == "in" and goal.support == option.container
    return np.array(
        [
            option.distance / 5.0,
            np.log1p(option.distance),
            min(option.size, 3.0),
            likelihood(goal, option.room),
            float(not option.room),
            float(bool(option.container)),
            float(wanted),
        ]
    )


class ClonedReasoner:
    """Ranks by cloned weights; understands and verifies by rules, without charge.

    Args:
        weights: one per feature.

    Raises:
        WeightsError: they are of a wrong number or not finite.
    """

    name = "cloned"

    def __init__(self, weights: Sequence[float]) -> None:
        self._weights = np.asarray(weights, np.float64)
        if self._weights.shape != (len(FEATURES),) or not np.isfinite(self._weights).all():
            raise WeightsError(f"cloned weights must be {len(FEATURES)} finite numbers, got {list(weights)}.")
        self._rules = RuleReasoner()

    @classmethod
    def bundled(cls) -> ClonedReasoner:
        """The weights that come with the library.

        Raises:
            WeightsError: they are missing or damaged.
        """
        try:
            text = (resources.files(__package__) / "cloned.json").read_text(encoding="utf-8")
            return cls([json.loads(text)["weights"][name] for name in FEATURES])
        except (OSError, json.JSONDecodeError, KeyError) as error:
            raise WeightsError(
                f"the cloned weights are missing or damaged ({error}). Fit them: "
                "python -m thinktwice.agents.lesa.cloning --help"
            ) from error

    def understand(self, expression: str) -> Reply[Query]:
        """As the rules do."""
        reply = self._rules.understand(expression)
        return Reply(value=reply.value, why=reply.why, cost=_FREE)

    def rank(self, expression: str, goal: Query, options: Sequence[Option], image: Array | None) -> Reply[list[float]]:
        """The logit of each option."""
        del expression, image
        values = [float(features(goal, option) @ self._weights) for option in options]
        best = options[max(range(len(options)), key=values.__getitem__)]
        return Reply(value=values, why=best.name, cost=_FREE)

    def verify(self, expression: str, goal: Query, facts: Facts, image: Array | None) -> Reply[Verdict]:
        """As the rules do."""
        reply = self._rules.verify(expression, goal, facts, image)
        return Reply(value=reply.value, why=reply.why, cost=_FREE)


def choices_of(episodes: Iterable[RvasEpisode]) -> list[tuple[Query, list[Option], int]]:
    """Every annotated choice between at least two options: goal, options, the right one's index."""
    found: list[tuple[Query, list[Option], int]] = []
    for episode in episodes:
        goal = _QUERY.validate_python(episode.record["query"])
        for choice in episode.choices():
            options = _OPTIONS.validate_python(choice["options"])
            if len(options) > 1:
                found.append((goal, options, int(choice["chosen"])))
    return found


def agreement_with(reasoner: Reasoner, choices: Sequence[tuple[Query, list[Option], int]]) -> float:
    """Planning quality: the share of annotated subgoals that a reasoner would choose as well.

    Raises:
        RecordError: there are no choices to agree with.
    """
    if not choices:
        raise RecordError("the data set holds no choice between two options.")
    hits = 0
    for goal, options, chosen in choices:
        values = reasoner.rank("", goal, options, None).value
        hits += max(range(len(options)), key=values.__getitem__) == chosen
    return hits / len(choices)


def fit(choices: Sequence[tuple[Query, list[Option], int]]) -> list[float]:
    """Maximum likelihood with a little ridge, by L-BFGS: the problem is convex, so the start does not matter.

    Raises:
        RecordError: there is nothing to fit.
    """
    if not choices:
        raise RecordError("the data set holds no choice between two options.")
    tables = [torch.tensor(np.stack([features(goal, o) for o in options])) for goal, options, _ in choices]
    weights = torch.zeros(len(FEATURES), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        nll = torch.stack(
            [-(table @ weights).log_softmax(0)[chosen] for table, (_, _, chosen) in zip(tables, choices, strict=True)]
        ).mean()
        total = nll + 1e-3 * weights.square().sum()
        total.backward()
        return total

    optimiser.step(loss)
    return [round(float(value), 6) for value in weights.detach()]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CloningOptions:
    """Options of the fit."""

    data: Path
    """A data set of ``thinktwice rvas-data``."""
    out: Path
    """The file to write."""


def main() -> None:
    """The command."""
    options = tyro.cli(CloningOptions, description=__doc__)
    train, held_out = (choices_of(read_rvas(options.data, split)) for split in ("train", "val"))
    weights = fit(train)
    figures = {
        "train_choices": len(train),
        "held_out_choices": len(held_out),
        "held_out_agreement": agreement_with(ClonedReasoner(weights), held_out),
        "held_out_agreement_of_rules": agreement_with(RuleReasoner(), held_out),
    }
    card = {"weights": dict(zip(FEATURES, weights, strict=True)), "figures": figures}
    options.out.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    Console().print(card)


if __name__ == "__main__":
    main()
