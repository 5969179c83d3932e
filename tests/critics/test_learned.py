"""A learned critic keeps the contract, looks at what it should, and refuses what it cannot judge."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thinktwice.critics import CriticContext, LearnedCritic
from thinktwice.critics.conformance import check_critic
from thinktwice.critics.spec import KINDS
from thinktwice.errors import ContractError

type Make = Callable[..., LearnedCritic]


def all_pairs(candidates: list[Any]) -> list[tuple[Any, Any]]:
    return [(first, second) for first in candidates for second in candidates]


def moved(known: CriticContext, key: str) -> CriticContext:
    """The same context with one feature changed."""
    value = known.features[key]
    changed = ~value if value.dtype == bool else value + 1
    return dataclasses.replace(known, features={**known.features, key: changed})


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_keeps_the_contract(make_critic: Make, kind: str, look: Any, known: CriticContext) -> None:
    check_critic(make_critic(kind=kind), look, known.candidates, known)


def test_it_keeps_the_contract_without_a_set_and_a_tail(make_critic: Make, look: Any, known: CriticContext) -> None:
    bare = dataclasses.replace(known, candidates=(), committed=None)
    check_critic(make_critic(), look, known.candidates, bare)


@pytest.mark.parametrize("kind", KINDS)
def test_what_each_kind_looks_at(make_critic: Make, kind: str, look: Any, known: CriticContext) -> None:
    """The action-only critic sees no observation at all; the others see everything they are bound to."""
    critic, pairs = make_critic(kind=kind), all_pairs(list(known.candidates))
    before = critic.prefer(look, pairs, known)
    others = {
        "summary": (look, moved(known, "summary")),
        "tokens": (look, moved(known, "tokens")),
        "mask": (look, moved(known, "tokens.mask")),
        "image": ({**look, "images.front": 255 - look["images.front"]}, known),
        "state": ({**look, "state": look["state"] + 1}, known),
    }
    for what, (observation, context) in others.items():
        changed = not np.allclose(critic.prefer(observation, pairs, context), before, atol=1e-6)
        assert changed == (kind != "action-only"), what


def test_masked_tokens_do_not_matter(make_critic: Make, look: Any, known: CriticContext) -> None:
    critic, pairs = make_critic(), all_pairs(list(known.candidates))
    tokens = known.features["tokens"].copy()
    tokens[3:] = 100.0
    other = dataclasses.replace(known, features={**known.features, "tokens": tokens})
    np.testing.assert_allclose(critic.prefer(look, pairs, other), critic.prefer(look, pairs, known), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_commitment_and_the_set_matter(make_critic: Make, kind: str, look: Any, known: CriticContext) -> None:
    critic, pairs = make_critic(kind=kind), all_pairs(list(known.candidates))
    before = critic.prefer(look, pairs, known)
    for changed in ({"committed": known.candidates[3][:2]}, {"committed": None}, {"candidates": known.candidates[:2]}):
        assert not np.allclose(critic.prefer(look, pairs, dataclasses.replace(known, **changed)), before, atol=1e-6)


def test_actions_beyond_the_horizon_are_not_read(make_critic: Make, look: Any, known: CriticContext) -> None:
    critic = make_critic(horizon=2)
    later = [chunk.copy() for chunk in known.candidates]
    for chunk in later:
        chunk[2:] += 5
    ours = critic.prefer(look, all_pairs(list(known.candidates)), known)
    theirs = critic.prefer(look, all_pairs(later), dataclasses.replace(known, candidates=later))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_the_scalar_critic_never_prefers_in_a_circle(make_critic: Make, look: Any, known: CriticContext) -> None:
    prefer = make_critic(kind="scalar").prefer(look, all_pairs(list(known.candidates)), known).reshape(5, 5)
    order = np.argsort(-prefer.sum(axis=1))
    assert (np.triu(prefer[order][:, order], 1) >= np.triu(np.full((5, 5), 0.5), 1) - 1e-6).all()


@pytest.mark.parametrize("bad", ["chunk", "nan chunk", "nan candidate", "nan tail", "tail"])
def test_chunks_that_cannot_be_judged(make_critic: Make, look: Any, known: CriticContext, bad: str) -> None:
    chunks = [chunk.copy() for chunk in known.candidates]
    pair, context = (chunks[0], chunks[1]), known
    if bad == "chunk":
        pair = (chunks[0][:4], chunks[1])
    if bad == "nan chunk":
        chunks[0][0, 0] = np.nan
    if bad == "nan candidate":
        chunks[4][0, 0] = np.inf
        context = dataclasses.replace(known, candidates=chunks)
    if bad == "nan tail":
        context = dataclasses.replace(known, committed=np.full((2, 3), np.nan))
    if bad == "tail":
        context = dataclasses.replace(known, committed=np.zeros((2, 4)))
    with pytest.raises(ContractError, match=r"NaN or infinity|float32"):
        make_critic().prefer(look, [pair], context)


def test_features_of_another_policy_are_refused(make_critic: Make, look: Any, known: CriticContext) -> None:
    critic, pairs = make_critic(), all_pairs(list(known.candidates))
    without = {name: value for name, value in known.features.items() if name != "summary"}
    wide = {**known.features, "summary": np.zeros(11, np.float32)}
    broken = {**known.features, "summary": np.full(10, np.nan, np.float32)}
    for features, message in ((without, "attends to 'summary'"), (wide, "has shape"), (broken, "NaN or infinity")):
        with pytest.raises(ContractError, match=message):
            critic.prefer(look, pairs, dataclasses.replace(known, features=features))
    with pytest.raises(ContractError, match="state of 4 numbers"):
        critic.prefer({**look, "state": look["state"][:2]}, pairs, known)
    for mask in (np.zeros(5, bool), np.ones(4, bool)):
        with pytest.raises(ContractError, match="at least one token"):
            critic.prefer(look, pairs, dataclasses.replace(known, features={**known.features, "tokens.mask": mask}))
    unmasked = {name: value for name, value in known.features.items() if name != "tokens.mask"}
    with pytest.raises(ContractError, match="and its mask"):
        critic.prefer(look, pairs, dataclasses.replace(known, features=unmasked))
