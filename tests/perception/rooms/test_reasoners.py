"""The two reasoners, without a simulator and without a model."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thinktwice.envs.rooms.queries import Query
from thinktwice.errors import ModelError, UsageError
from thinktwice.perception.llm import ScriptedChat
from thinktwice.perception.reasoner import Facts, Option, Reasoner
from thinktwice.perception.reasoner_mllm import PromptedLesaReasoner
from thinktwice.perception.reasoner_rules import RuleReasoner, agreement, value
from thinktwice.perception.rooms_vocabulary import Phrase, read_label

MUG_ON_DESK = Query(kinds=("mug",), colour="red", relation="on", support="desk")


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (Facts(kind="mug", colour="red", supports=(("on", "desk"),), distance=5), "accept"),
        (Facts(kind="mug", colour="blue", supports=(("on", "desk"),), distance=1), "reject"),
        (Facts(kind="bowl", colour="red", supports=(("on", "desk"),), distance=1), "reject"),
        (Facts(kind="mug", supports=(("on", "desk"),), distance=1), "unsure"),
        (Facts(kind="mug", colour="red", supports=(("on", "bed"),), distance=1), "reject"),
        (Facts(kind="mug", colour="red", supports=(("on", "bed"),), distance=5), "unsure"),
        (Facts(kind="mug", colour="red", distance=1), "unsure"),
    ],
)
def test_a_candidate_is_judged_by_what_is_known(facts: Facts, verdict: str) -> None:
    assert agreement(MUG_ON_DESK, facts)[0] == verdict


def test_places_from_the_left_decide() -> None:
    goal = Query(kinds=("book",), relation="on", support="desk", place=2)
    on_desk = (("on", "desk"),)
    assert agreement(goal, Facts(kind="book", supports=on_desk, place=2, distance=1))[0] == "accept"
    assert agreement(goal, Facts(kind="book", supports=on_desk, place=1, distance=1))[0] == "reject"
    assert agreement(goal, Facts(kind="book", supports=on_desk, distance=1))[0] == "unsure"


def test_likely_rooms_outweigh_a_few_metres() -> None:
    milk = Query(kinds=("milk carton",))
    kitchen, bedroom = (Option(name=room, distance=d, room=room) for room, d in (("kitchen", 5), ("bedroom", 3)))
    assert value(milk, kitchen) > value(milk, bedroom)
    assert value(milk, Option(name="x", distance=1)) > value(milk, Option(name="x", distance=2))


def test_containers_come_first_only_where_they_are_meant() -> None:
    fridge = Option(name="Open the fridge", distance=2, container="fridge")
    frontier = Option(name="frontier", distance=4, size=1)
    inside = Query(kinds=("apple",), relation="in", support="fridge")
    beside = Query(kinds=("apple",), relation="on", support="desk")
    assert value(inside, fridge) > value(inside, frontier)
    assert value(beside, fridge) < value(beside, frontier)


def test_rules_answer_and_account() -> None:
    rules = RuleReasoner()
    assert isinstance(rules, Reasoner)
    reply = rules.understand("the red mug on the desk")
    assert reply.value == MUG_ON_DESK
    assert reply.cost.vlm_calls == 1
    with pytest.raises(UsageError):
        rules.understand("")


def test_a_model_answers_the_three_questions() -> None:
    meaning = {"kinds": ["mug"], "colour": "red", "relation": "on", "support": "desk", "why": "it says so"}
    replies = [
        json.dumps(meaning),
        json.dumps({"values": [1, 9], "why": "kitchens have mugs"}),
        json.dumps({"verdict": "accept", "why": "red and on the desk"}),
    ]
    model = ScriptedChat(replies)
    reasoner = PromptedLesaReasoner(model)
    assert isinstance(reasoner, Reasoner)
    goal = reasoner.understand("the red mug on the desk").value
    assert goal == MUG_ON_DESK
    image = np.zeros((8, 8, 3), np.uint8)
    options = [Option(name="left", distance=1), Option(name="right", distance=2)]
    ranking = reasoner.rank("the red mug on the desk", goal, options, image)
    assert ranking.value == [1, 9]
    assert ranking.cost.prompt_tokens > 0
    verdict = reasoner.verify("the red mug on the desk", goal, Facts(kind="mug", colour="red"), image)
    assert verdict.value == "accept"
    assert len(model.requests[1].messages[-1].images) == 1


def test_a_model_that_invents_kinds_or_miscounts_is_asked_again_and_then_fails() -> None:
    invented = json.dumps({"kinds": ["spaceship"], "why": "x"})
    with pytest.raises(ModelError, match="vocabulary"):
        PromptedLesaReasoner(ScriptedChat([invented] * 2), tries=2).understand("the thing")
    options = [Option(name="left", distance=1), Option(name="right", distance=2)]
    short = json.dumps({"values": [1], "why": "x"})
    good = json.dumps({"values": [1, 2], "why": "x"})
    reply = PromptedLesaReasoner(ScriptedChat([short, good])).rank("the mug", MUG_ON_DESK, options, None)
    assert reply.value == [1, 2]
    with pytest.raises(UsageError, match="no known object"):
        PromptedLesaReasoner(ScriptedChat([json.dumps({"kinds": [], "why": "a spaceship"})])).understand("a spaceship")


def test_labels_come_apart_and_together_again() -> None:
    phrase = Phrase(kind="toy car", size="small", colour="red", material="wooden")
    assert read_label(str(phrase)) == phrase
    assert read_label("floor lamp") == Phrase(kind="floor lamp")
    assert read_label("large red dragon") == Phrase(kind="dragon", size="large", colour="red")
