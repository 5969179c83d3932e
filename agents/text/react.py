"""ReAct on the world's text: a thought and an action per step, without any perception.

After Yao et al., ReAct (ICLR 2023), whose ALFWorld agent reads the text that lists everything there is to see.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
from pydantic import BaseModel, ConfigDict, Field

from ...envs import Observation, derive_seed
from ...errors import choices as suggestions
from ...perception.llm import ChatModel, Message, Request, ask_structured
from ...perception.llm.prompting import fill_prompt
from ..agent import Agent, Decision
from ..prism.contract import Memory, Reasoner, Said, Situation
from ..prism.feedback import read_choices
from ..prism.models import ModelOptions, build_reasoner, chat_model


class Thought(BaseModel):
    """What a language model answers."""

    model_config = ConfigDict(extra="forbid")

    thought: str = Field(
        max_length=600, description="what you know and what you want to do next, in one or two sentences"
    )
    action: str = Field(description="one of the admissible actions, copied exactly")


@runtime_checkable
class Thinker(Protocol):
    """Thinks once and chooses."""

    def think(self, situation: Situation, *, seed: int) -> Said[Thought]:
        """A thought and an admissible action.

        Raises:
            ModelError: no usable answer within the tries.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Plain data for the run's record."""
        ...


class PromptedThinker:
    """A language model that thinks and chooses in one answer.

    Args:
        model: the language model.
        options: its tries and prompts.
    """

    def __init__(self, model: ChatModel, options: ModelOptions) -> None:
        self._model, self._options = model, options

    def think(self, situation: Situation, *, seed: int) -> Said[Thought]:
        """See `Thinker.think`."""

        def check(thought: Thought) -> str | None:
            if thought.action in situation.choices:
                return None
            return f"{thought.action!r} is not admissible. {suggestions(thought.action, situation.choices, limit=40)}"

        text = fill_prompt(
            __package__ or "",
            "react",
            self._options.prompts,
            task=situation.task,
            memory="\n".join(f"- {m.summary} | {m.action} | {m.feedback}" for m in situation.memory) or "(nothing yet)",
            text=situation.feedback,
            choices="\n".join(f"- {choice}" for choice in situation.choices),
        )
        message = Message(role="user", text=text)
        request = Request(messages=(message,), max_tokens=self._options.llm_max_tokens, seed=seed)
        found = ask_structured(
            self._model, request, Thought, tries=self._options.tries, check=check, allowed={"action": situation.choices}
        )
        return Said(value=found.answer, exchanges=found.exchanges, cost=found.cost)

    def describe(self) -> dict[str, Any]:
        """The model."""
        return {"thinker": "prompted", "tries": self._options.tries, "model": self._model.describe()}


class ReasonedThinker:
    """An embedded reasoner that takes the text for the description.

    Args:
        reasoner: writes a summary, which is the thought, and decides.
    """

    def __init__(self, reasoner: Reasoner) -> None:
        self._reasoner = reasoner

    def think(self, situation: Situation, *, seed: int) -> Said[Thought]:
        """See `Thinker.think`."""
        said = self._reasoner.synthesise(situation, seed=seed)
        chosen = self._reasoner.decide(dataclasses.replace(situation, summary=said.value), seed=seed)
        # One thought and one action are one call, as with a language model.
        cost = dataclasses.replace(said.cost + chosen.cost, llm_calls=1, prompt_tokens=said.cost.prompt_tokens)
        return Said(value=Thought(thought=said.value, action=chosen.value), exchanges=(), cost=cost)

    def describe(self) -> dict[str, Any]:
        """The reasoner's."""
        return self._reasoner.describe()


class ReactAgent:
    """See the module's docstring.

    Args:
        thinker: thinks and chooses.
        window: past steps that it is shown.
    """

    def __init__(self, thinker: Thinker, *, window: int = 50) -> None:
        self._thinker, self._window = thinker, window
        self._seed = 0
        self._memory: list[Memory] = []
        self._last: Thought | None = None

    def reset(self, *, seed: int) -> None:
        """Begin an episode."""
        self._seed, self._memory, self._last = seed, [], None

    def act(self, observation: Observation) -> Decision:
        """One thought and one action.

        Raises:
            ContractError: the world offers no choices.
            ModelError: the model gave no usable answer within its tries.
        """
        text = str(observation.get("text", ""))
        if self._last is not None:
            self._memory.append(Memory(summary=self._last.thought, action=self._last.action, feedback=text))
        situation = Situation(
            task=str(observation.get("task", "")),
            feedback=text,
            choices=read_choices(observation),
            memory=tuple(self._memory[-self._window :]),
            description=text,
        )
        said = self._thinker.think(situation, seed=derive_seed(self._seed, len(self._memory)))
        self._last = said.value
        turn = {"stage": "think", "who": "react", "text": said.value.thought, "exchanges": list(said.exchanges)}
        return Decision(
            chunk=[said.value.action], why="one thought", cost=said.cost, notes={"transcript": [turn], "questions": 0}
        )

    def describe(self) -> dict[str, Any]:
        """Kind and thinker."""
        return {"agent": "react", "window": self._window, **self._thinker.describe()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReactOptions(ModelOptions):
    """Options of ``--agent react``."""

    window: int = 50
    """Past steps that the language model is shown."""


def build_react(options: ReactOptions, env: gym.Env[Any, Any]) -> Agent:
    """The agent that the options name.

    Raises:
        UsageError: there is no such model.
    """
    if options.llm == "rules":
        return ReactAgent(ReasonedThinker(build_reasoner(options, env)), window=options.window)
    return ReactAgent(
        PromptedThinker(chat_model(options.llm, options.base_url, options), options), window=options.window
    )
