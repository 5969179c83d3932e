"""PRISM: describe, criticise, ask, answer, synthesise, decide.

The loop is inferred from the public abstract of PRISM (perceptual reasoning through interaction between a decision
LLM and a perception VLM); the authors' prompts and question counts were not at hand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, cast

from ...cost import Cost
from ...envs import Array, Observation, derive_seed
from ...errors import ConfigError
from ...perception.llm import Perceiver, Utterance
from ..agent import Decision
from .contract import Memory, Reasoner, Situation
from .feedback import plain_feedback, read_choices

type Ablation = Literal["full", "passive", "fixed", "oracle"]

FIXED_QUESTIONS = (
    "What small things are in view?",
    "What is partly hidden behind something else?",
    "What is inside anything that is open?",
)
"""What the ablation ``fixed`` asks at every decision, whatever the goal is."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bounds:
    """How much the loop may do.

    Attributes:
        rounds: rounds of questions per decision.
        questions: questions per round.
        window: past decisions that the reasoner is shown.

    Raises:
        ConfigError: a number that makes no sense.
    """

    rounds: int = 2
    questions: int = 3
    window: int = 50

    def __post_init__(self) -> None:
        if self.rounds < 0 or self.questions < 1 or self.window < 0:
            raise ConfigError(f"rounds and window must be at least 0, questions at least 1, got {self}.")


class PrismAgent:
    """The loop over any text world.

    With ``full``, the reasoner criticises the description and asks until it is satisfied, its rounds are used up or it
    only repeats itself.  ``passive`` decides from the description alone, ``fixed`` asks `FIXED_QUESTIONS` instead of
    its own, and ``oracle`` is the full loop with the world's own text in the description's place.

    Args:
        reasoner: the LLM's part.
        perceiver: the VLM's part.
        ablation: see above.
        bounds: how much the loop may do.
    """

    def __init__(
        self, reasoner: Reasoner, perceiver: Perceiver, *, ablation: Ablation = "full", bounds: Bounds | None = None
    ) -> None:
        self._reasoner, self._perceiver, self._ablation = reasoner, perceiver, ablation
        self._bounds = Bounds() if bounds is None else bounds
        self._seed = 0
        self._memory: list[Memory] = []
        self._last: tuple[str, str] | None = None

    def reset(self, *, seed: int) -> None:
        """Begin an episode."""
        self._seed, self._memory, self._last = seed, [], None

    def act(self, observation: Observation) -> Decision:
        """One decision.

        Raises:
            ContractError: the world offers no choices, or no image where the perceiver needs one.
            ModelError: a model gave no usable answer within its tries.
        """
        seed = derive_seed(self._seed, len(self._memory) + int(self._last is not None))
        feedback = str(observation.get("text", ""))
        feedback = feedback if self._ablation == "oracle" else plain_feedback(feedback)
        if self._last is not None:
            summary, action = self._last
            self._memory.append(Memory(summary=summary, action=action, feedback=feedback))
        log = _Transcript()
        described = self._perceiver.describe_scene(observation, seed=seed)
        log.add("describe", self._perceiver.name, described.text, described.cost)
        window = self._memory[-self._bounds.window :] if self._bounds.window else []
        situation = Situation(
            task=str(observation.get("task", "")),
            feedback=feedback,
            choices=read_choices(observation),
            memory=tuple(window),
            description=described.text,
        )
        situation, missing = self._question(situation, observation, seed, log)
        situation = self._synthesise(situation, seed, log)
        decided = self._reasoner.decide(situation, seed=seed)
        log.add("decide", self._reasoner.name, decided.value, decided.cost, decided.exchanges)
        self._last = (situation.summary, decided.value)
        asked = len(situation.answers)
        return Decision(
            chunk=[decided.value],
            mode="deliberate" if asked else "reflex",
            why=f"asked {asked} questions" if asked else "the description was enough",
            doubt=float(missing),
            cost=log.cost,
            notes={"transcript": log.turns, "questions": asked, "summary": situation.summary, **_shown(observation)},
        )

    def describe(self) -> dict[str, Any]:
        """Kind, ablation, bounds, and both models."""
        return {
            "agent": "prism",
            "ablation": self._ablation,
            **dataclasses.asdict(self._bounds),
            "reasoner": self._reasoner.describe(),
            "perceiver": self._perceiver.describe(),
        }

    def _question(
        self, situation: Situation, observation: Observation, seed: int, log: _Transcript
    ) -> tuple[Situation, int]:
        """The situation with answers, and how much was found missing at first."""
        if self._ablation == "passive":
            return situation, 0
        if self._ablation == "fixed":
            return self._ask(situation, FIXED_QUESTIONS, observation, seed, log), 0
        missing = 0
        for turn in range(self._bounds.rounds):
            said = self._reasoner.critique(situation, questions=self._bounds.questions, seed=derive_seed(seed, turn))
            log.add("critique", self._reasoner.name, said.value.model_dump_json(), said.cost, said.exchanges)
            missing = missing or len(said.value.missing)
            asked = {question.strip().lower() for question, _ in situation.answers}
            new = [q for q in dict.fromkeys(said.value.questions) if q.strip() and q.strip().lower() not in asked]
            if said.value.sufficient or not new:
                break
            situation = self._ask(situation, new[: self._bounds.questions], observation, derive_seed(seed, turn), log)
        return situation, missing

    def _ask(
        self, situation: Situation, questions: Sequence[str], observation: Observation, seed: int, log: _Transcript
    ) -> Situation:
        """Ask about the same image, several at once where the perceiver allows it; the answers' order is fixed."""

        def reply(question: str) -> Utterance:
            return self._perceiver.answer(observation, question, seed=seed)

        if self._perceiver.parallel == 1:
            answers = [reply(question) for question in questions]
        else:
            with ThreadPoolExecutor(max_workers=self._perceiver.parallel) as pool:
                answers = list(pool.map(reply, questions))
        for question, answer in zip(questions, answers, strict=True):
            log.add("ask", self._reasoner.name, question, Cost())
            log.add("answer", self._perceiver.name, answer.text, answer.cost)
        pairs = [(question, answer.text) for question, answer in zip(questions, answers, strict=True)]
        return dataclasses.replace(situation, answers=(*situation.answers, *pairs))

    def _synthesise(self, situation: Situation, seed: int, log: _Transcript) -> Situation:
        if self._ablation == "passive":
            return dataclasses.replace(situation, summary=situation.description)
        said = self._reasoner.synthesise(situation, seed=seed)
        log.add("synthesise", self._reasoner.name, said.value, said.cost, said.exchanges)
        return dataclasses.replace(situation, summary=said.value)


class _Transcript:
    """Who said what in one decision."""

    def __init__(self) -> None:
        self.turns: list[dict[str, Any]] = []
        self.cost = Cost()

    def add(self, stage: str, who: str, text: str, cost: Cost, exchanges: Sequence[dict[str, Any]] = ()) -> None:
        turn: dict[str, Any] = {"stage": stage, "who": who, "text": text}
        if cost != Cost():
            turn |= {"prompt_tokens": cost.prompt_tokens, "completion_tokens": cost.completion_tokens}
        if exchanges:
            turn["exchanges"] = list(exchanges)
        self.turns.append(turn)
        self.cost = self.cost + cost


def _shown(observation: Observation) -> dict[str, Array]:
    """What the perceiver saw, at half its size: enough for a report."""
    return {
        f"seen.{key.removeprefix('images.')}": cast("Array", value)[::2, ::2]
        for key, value in observation.items()
        if key.startswith("images.")
    }
