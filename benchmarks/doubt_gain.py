"""What a gate could earn: how much of a critic's gain lies behind the decisions that a measure of doubt finds first.

On held-out episodes of pair sets (`thinktwice pairs`), in the label's own unit: the critic chooses at every decision as
in a rollout, and its gain over the reflex is added up over the most doubtful 10%, 20%, … of the decisions.  A gate that
knows nothing gets that very share; a perfect one opens where the gain is largest.  More than 1 is possible: choosing
makes some decisions worse.

    python -m benchmarks.doubt_gain --data pairs/reflex pairs/critic
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from thinktwice.agents import Proposal
from thinktwice.agents.attc import ChunkMetric, CriticGate, Deliberation, ThresholdGate, load_clutch
from thinktwice.agents.attc.gates import CRITIC
from thinktwice.agents.attc.measures import COMMITTED, build_measure
from thinktwice.agents.attc.shipped import clutch_file, critic_folder
from thinktwice.agents.attc.tournaments import copeland
from thinktwice.agents.pairs.pairset import LabelledState, PairSet, read_pairs
from thinktwice.agents.pairs.training.building import held_out
from thinktwice.critics import Critic, load_critic
from thinktwice.envs import Array, Observation

SHARES = (0.1, 0.2, 0.3, 0.5)
RESAMPLES = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the table."""

    data: tuple[Path, ...]
    """Pair sets with an expert's labels."""
    critic: str = "bundled"
    """Who chooses."""
    clutches: tuple[Path, ...] = (Path("bundled:dtw"), Path("bundled:temporal"), Path("bundled:critic"))
    """Whose doubt orders the decisions; their thresholds are not used."""
    validation: float = 0.15
    """The share of episodes that the critic's training held out."""
    margin: float = 0.05
    """Of the critic's preference against the reflex."""


def proposal_of(state: LabelledState) -> Proposal:
    """The proposal of a stored decision."""
    stored, row = state.stored, state.row
    tail = stored.tail(row)
    return Proposal(
        chunks=state.candidates,
        features={name: values[row] for name, values in stored.features.items()},
        notes={} if tail is None else {COMMITTED: tail},
    )


def observation_of(state: LabelledState) -> Observation:
    """What of it a critic reads."""
    return {"state": state.stored.state[state.row], "task": state.stored.instruction}


def gate_of(source: Path, critic: Critic) -> ThresholdGate | CriticGate:
    """The gate of a clutch."""
    clutch = load_clutch(clutch_file(source))
    if clutch.measure.name == CRITIC:
        return CriticGate(critic=critic, threshold=clutch.threshold, candidates_needed=clutch.measure.candidates)
    return ThresholdGate(measure=build_measure(clutch.measure, None), threshold=clutch.threshold)


def gain(state: LabelledState, proposal: Proposal, critic: Critic, margin: float) -> tuple[float, float]:
    """How much better than the reflex the critic's choice is, and the best candidate."""
    deliberation = Deliberation(
        observation=observation_of(state),
        proposal=proposal,
        metric=ChunkMetric(weights=(1.0,) * state.candidates.shape[-1]),
        committed=state.stored.tail(state.row),
        seed=0,
    )
    chosen = copeland(deliberation, critic=critic, margin=margin).index
    utility = state.utility[: len(state.candidates)]
    return float(utility[chosen] - utility[0]), float(utility.max() - utility[0])


def captured(order: Array, gains: Array) -> dict[str, float]:
    """The share of the whole gain that the first decisions of an order hold, by their share of all."""
    return {
        f"{share:.0%}": round(float(gains[order[: round(share * len(order))]].sum() / gains.sum()), 3)
        for share in SHARES
    }


def intervals(order: Array, gains: Array, episodes: Array) -> dict[str, list[float]]:
    """95% intervals of `captured`: whole episodes are drawn again."""
    random, names = np.random.default_rng(0), np.unique(episodes)
    rows = {name: np.flatnonzero(episodes == name) for name in names}
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order))
    drawn: list[list[float]] = []
    for _ in range(RESAMPLES):
        some = np.concatenate([rows[name] for name in random.choice(names, len(names))])
        drawn.append(list(captured(np.argsort(rank[some], kind="stable"), gains[some]).values()))
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return {
        f"{share:.0%}": [round(float(a), 3), round(float(b), 3)] for share, a, b in zip(SHARES, low, high, strict=True)
    }


def table(options: Options) -> dict[str, Any]:
    """Everything that is printed."""
    pairs: PairSet = read_pairs(options.data)
    _, held = held_out(pairs, options.validation)
    states = [pairs.states[index] for index in np.unique(pairs.state[held])]
    critic = load_critic(critic_folder(options.critic), pairs.policy["sha256"])
    proposals = [proposal_of(state) for state in states]
    gains, best = np.array(
        [gain(state, proposal, critic, options.margin) for state, proposal in zip(states, proposals, strict=True)]
    ).T
    episodes = np.array([state.episode for state in states])
    orders = {"the gain itself": np.argsort(-gains, kind="stable")}
    for source in options.clutches:
        gate = gate_of(source, critic)
        doubts = np.array(
            [gate.doubt(observation_of(state), proposal) for state, proposal in zip(states, proposals, strict=True)]
        )
        orders[str(source)] = np.argsort(-doubts, kind="stable")
    return {
        "decisions": len(states),
        "episodes": len(set(episodes)),
        "gain of the critic": round(float(gains.mean()), 4),
        "gain of the best candidate": round(float(best.mean()), 4),
        "decisions that the critic makes worse": round(float((gains < 0).mean()), 3),
        "share of the critic's gain": {
            name: {"captured": captured(order, gains), "ci95": intervals(order, gains, episodes)}
            for name, order in orders.items()
        },
        "share of the best candidate's gain": {
            name: {"captured": captured(order, best), "ci95": intervals(order, best, episodes)}
            for name, order in orders.items()
            if name != "the gain itself"
        },
    }


def main() -> None:
    """Print the table as JSON."""
    sys.stdout.write(json.dumps(table(tyro.cli(Options)), indent=2) + "\n")


if __name__ == "__main__":
    main()
