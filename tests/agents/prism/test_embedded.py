"""The embedded reasoner and scene VLM: what they can, what they cannot, and that nothing depends on the process."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from thinktwice.agents import ReflexAgent
from thinktwice.agents.conformance import check_policy
from thinktwice.agents.prism import Memory, RuleReasoner, Situation
from thinktwice.agents.prism.build import PrismOptions, build_prism
from thinktwice.agents.prism.household import Goal, claims, read_goal, read_progress
from thinktwice.agents.text.policies import build_admissible, build_planner
from thinktwice.agents.text.react import ReactOptions, build_react
from thinktwice.envs import MultiStep
from thinktwice.envs.alfworld.world import AlfworldOptions, open_alfworld
from thinktwice.envs.r2r.world import R2ROptions, open_r2r
from thinktwice.errors import ConfigError, ContractError, ModelError, UsageError
from thinktwice.perception.scene_vlm import SceneVlm, SceneVlmOptions, Seen
from thinktwice.rollouts.episode import rollout

pytest.importorskip("alfworld", reason="pip install -c constraints.txt -e '.[alfworld]'")

SMALL, LARGE = Seen(kind="pen", share=0.001), Seen(kind="laptop", share=0.1)
DESK = Seen(kind="desk", share=0.4, furniture=True)


def eyes(*seen: Seen, **options: float) -> SceneVlm:
    return SceneVlm(lambda _: seen, ["pen", "laptop", "mug"], SceneVlmOptions(**options))


def test_a_description_drops_small_things_and_an_answer_reveals_them() -> None:
    vlm = eyes(SMALL, LARGE, DESK, miss=1.0)
    said = vlm.describe_scene({}, seed=0).text
    assert "pen" not in said
    assert "laptop" in said
    assert "desk" in said
    assert vlm.answer({}, "Is there a pen anywhere?", seed=0).text == "Yes, I see a pen."
    assert vlm.answer({}, "Is there a mug?", seed=0).text == "No mug is visible."


def test_nothing_is_dropped_or_invented_unless_asked_for() -> None:
    for seed in range(20):
        assert "pen" in eyes(SMALL, miss=0.0).describe_scene({}, seed=seed).text
        assert "mug" not in eyes(SMALL, miss=0.0).describe_scene({}, seed=seed).text
    lies = [eyes(hallucinate=1.0).answer({}, "Is there a mug?", seed=seed).text for seed in range(3)]
    assert lies == ["Yes, I see a mug."] * 3


def test_what_is_dropped_depends_on_the_seed_alone() -> None:
    said = [eyes(SMALL, miss=0.5).describe_scene({}, seed=seed).text for seed in range(40)]
    again = [eyes(SMALL, miss=0.5).describe_scene({}, seed=seed).text for seed in range(40)]
    assert said == again
    dropped = sum("pen" not in text for text in said)
    assert 8 < dropped < 32


def test_impossible_eyes_are_refused() -> None:
    with pytest.raises(ConfigError, match="miss"):
        SceneVlmOptions(miss=1.1)


@pytest.mark.parametrize(
    ("task", "goal"),
    [
        ("put a mug in shelf", Goal(target="mug", count=1, treatment="", place="shelf", lamp="")),
        ("put some pen on desk.", Goal(target="pen", count=1, treatment="", place="desk", lamp="")),
        ("put two cd in safe", Goal(target="cd", count=2, treatment="", place="safe", lamp="")),
        ("find two cd and put them in safe", Goal(target="cd", count=2, treatment="", place="safe", lamp="")),
        ("put a clean pan in fridge", Goal(target="pan", count=1, treatment="clean", place="fridge", lamp="")),
        ("heat some egg and put it in fridge", Goal(target="egg", count=1, treatment="heat", place="fridge", lamp="")),
        (
            "cool some egg and put it in sinkbasin",
            Goal(target="egg", count=1, treatment="cool", place="sinkbasin", lamp=""),
        ),
        ("look at cd under the desklamp", Goal(target="cd", count=1, treatment="", place="", lamp="desklamp")),
        ("examine the cd with the desklamp", Goal(target="cd", count=1, treatment="", place="", lamp="desklamp")),
    ],
)
def test_every_templated_instruction_is_understood(task: str, goal: Goal) -> None:
    assert read_goal(task) == goal


def test_a_persons_own_words_are_not_guessed_at() -> None:
    with pytest.raises(ModelError, match="templated"):
        read_goal("Please bring me something warm to drink.")


def test_progress_is_read_from_what_the_world_said() -> None:
    goal = read_goal("put a clean pan in fridge")
    memory = [
        Memory(summary="", action="go to shelf 1", feedback="You arrive at shelf 1."),
        Memory(
            summary="a pan is here",
            action="take pan 1 from shelf 1",
            feedback="You pick up the pan 1 from the shelf 1.",
        ),
        Memory(summary="", action="go to sinkbasin 1", feedback="You arrive at sinkbasin 1."),
        Memory(
            summary="", action="clean pan 1 with sinkbasin 1", feedback="You clean the pan 1 using the sinkbasin 1."
        ),
        Memory(summary="", action="move pan 1 to fridge 1", feedback="Nothing happens."),
    ]
    progress = read_progress(goal, memory)
    assert (progress.location, progress.holding, progress.treated) == ("sinkbasin 1", "pan 1", {"pan 1"})
    assert progress.placed == {}
    assert progress.noted == {"pan": ["shelf 1"]}


def test_what_is_denied_is_not_claimed() -> None:
    assert claims("I see 2 pens and a mug. No book is visible.", "pen")
    assert not claims("I see 2 pens and a mug. No book is visible.", "book")
    assert not claims("I hold the mug.", "mug")
    assert not claims("I see a pencil.", "pen")


def test_the_reasoner_takes_only_what_it_was_told_is_there() -> None:
    at_desk = Memory(summary="", action="go to desk 1", feedback="You arrive at desk 1.")
    situation = Situation(
        task="put a pen in safe",
        feedback="You arrive at desk 1.",
        choices=("go to safe 1", "look", "take pen 1 from desk 1"),
        memory=(at_desk,),
        description="I see a mug.",
    )
    reasoner = RuleReasoner()
    asked = reasoner.critique(situation, questions=3, seed=0).value
    assert (asked.sufficient, asked.missing) == (False, ["pen"])
    blind = Situation(**{**vars(situation), "summary": "At desk 1: no pen is here"})
    assert reasoner.decide(blind, seed=0).value == "go to safe 1"
    told = Situation(**{**vars(situation), "summary": "At desk 1: a pen is here"})
    assert reasoner.decide(told, seed=0).value == "take pen 1 from desk 1"


@pytest.mark.sim
def test_policies_of_text_worlds_keep_the_contract() -> None:
    env = open_alfworld("alfworld", AlfworldOptions(per_type=1, images=False)).make()
    observation, _ = env.reset(seed=0)
    check_policy(build_admissible("", env), observation, env.action_space)
    check_policy(build_planner("", env), observation, env.action_space)
    env.close()
    with pytest.raises(UsageError, match="nothing after"):
        build_planner("x", env)
    with pytest.raises(ContractError, match="offers none"):
        build_admissible("", env).propose({"state": np.zeros(1, np.float32)}, 1, seed=0)


@pytest.mark.sim
def test_asking_finds_what_passive_seeing_misses() -> None:
    world = open_alfworld("alfworld", AlfworldOptions(per_type=3))
    env = world.make()
    episodes = world.episodes(tasks=["pick_and_place_simple", "look_at_obj_in_light"], count=3, seed=0)
    steps: dict[str, int] = {}
    for ablation in ("full", "passive", "oracle"):
        agent = build_prism(PrismOptions(ablation=ablation, miss=0.9), env)  # type: ignore[arg-type]
        played = [list(rollout(MultiStep(env), agent, episode)) for episode in episodes]
        steps[ablation] = sum(len(episode) for episode in played)
        if ablation != "passive":
            assert all(episode[-1].success for episode in played)
    assert steps["full"] < steps["passive"]
    env.close()


@pytest.mark.sim
def test_the_planner_is_the_ceiling_and_react_reads_well() -> None:
    world = open_alfworld("alfworld", AlfworldOptions(per_type=1, images=False))
    env = world.make()
    episodes = world.episodes(tasks=world.tasks(), count=1, seed=0)
    for agent in (ReflexAgent(build_planner("", env)), build_react(ReactOptions(), env)):
        assert all(list(rollout(MultiStep(env), agent, episode))[-1].success for episode in episodes)
    env.close()


def test_the_loop_walks_through_synthetic_houses() -> None:
    world = open_r2r("r2r", R2ROptions(routes=6))
    env = world.make()
    agent = build_prism(PrismOptions(), env)
    for episode in world.episodes(tasks=["synthetic"], count=6, seed=0):
        *_, last = rollout(MultiStep(env), agent, episode)
        assert last.infos[-1]["metrics"]["spl"] == pytest.approx(1.0)


TRANSCRIPT = """
import json
from thinktwice.agents.prism.build import PrismOptions, build_prism
from thinktwice.envs import MultiStep
from thinktwice.envs.alfworld.world import AlfworldOptions, open_alfworld
from thinktwice.rollouts.episode import rollout
world = open_alfworld("alfworld", AlfworldOptions(per_type=2, max_steps=8))
env = world.make()
agent = build_prism(PrismOptions(), env)
episodes = world.episodes(tasks=["pick_two_obj_and_place"], count=2, seed=0)
said = {}
for episode in ORDER(episodes):
    steps = list(rollout(MultiStep(env), agent, episode))
    pixels = [int(step.observation["images.front"].sum()) for step in steps]
    decisions = [step.decision for step in steps]
    said[episode.init_state] = [pixels, [[d.notes["transcript"], d.chunk, d.cost.counts()] for d in decisions]]
env.close()
print(json.dumps(said, sort_keys=True))
"""


@pytest.mark.sim
def test_the_same_seed_gives_the_same_transcript_in_any_process_order_and_hash_seed() -> None:
    def run(order: str, hash_seed: str) -> Any:
        import os

        result = subprocess.run(
            [sys.executable, "-c", TRANSCRIPT.replace("ORDER", order)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(result.stdout)

    assert run("list", "1") == run("reversed", "77")


def test_unknown_models_are_refused() -> None:
    env = open_r2r("r2r", R2ROptions(routes=1)).make()
    with pytest.raises(UsageError, match="openai:MODEL"):
        build_prism(PrismOptions(llm="gpt"), env)
    with pytest.raises(UsageError, match="openai:MODEL"):
        build_prism(PrismOptions(vlm="openai:"), env)
