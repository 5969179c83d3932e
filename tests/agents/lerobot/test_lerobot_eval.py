"""LeRobot's own evaluation plays our worlds with our agents, and finds what `thinktwice rollout` finds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lerobot.envs import make_env, make_env_pre_post_processors
from lerobot.policies import make_policy, make_pre_post_processors
from lerobot.scripts.lerobot_eval import eval_policy, rollout

from thinktwice.agents.catalog import agent_entry
from thinktwice.envs import MultiStep
from thinktwice.envs.fakes import FakeEnv
from thinktwice.envs.libero.conventions import libero_conventions
from thinktwice.errors import ConfigError, ConventionError, IdentityError, UsageError
from thinktwice.rollouts import RunConfig, Trace
from thinktwice.rollouts.config import make_plan
from thinktwice.rollouts.lerobot.configuration_thinktwice import ThinktwiceConfig
from thinktwice.rollouts.lerobot.environment import ThinktwiceEnv
from thinktwice.rollouts.lerobot.exchange import array_to_seed, seed_to_array
from thinktwice.rollouts.playing import Recording, play

SKILL, SEED = 0.9, 3


def our_traces(config: RunConfig) -> list[Trace]:
    """The episodes as `thinktwice rollout` plays them, in this process."""
    plan = make_plan(config)
    env = MultiStep(plan.world.make())
    agent = agent_entry(config.agent).load()[1](plan.config.agent_options, env)
    traces = []
    for episode in plan.episodes:
        recording = Recording(episode=episode)
        play(env, agent, recording)
        traces.append(recording.trace())
    env.close()
    return traces


def parts(env: ThinktwiceEnv, config: ThinktwiceConfig, n: int) -> dict[str, Any]:
    """What LeRobot's `eval_policy` and `rollout` are called with."""
    (envs,) = make_env(env, n_envs=n, use_async_envs=False).values()
    (vector,) = envs.values()
    before, after = make_env_pre_post_processors(env, config)
    first, last = make_pre_post_processors(config)
    return {
        "env": vector,
        "policy": make_policy(config, env_cfg=env),
        "env_preprocessor": before,
        "env_postprocessor": after,
        "preprocessor": first,
        "postprocessor": last,
    }


@pytest.fixture
def fake_env() -> ThinktwiceEnv:
    return ThinktwiceEnv(task="fake", options="--cap 40 --stay", tasks="2", seed=SEED)


def fake_agent(**given: Any) -> ThinktwiceConfig:
    return ThinktwiceConfig(**{"agent": "fake", "options": f"--skill {SKILL}", "world": "fake"} | given)


def test_a_batch_of_episodes_is_what_our_own_runner_plays(fake_env: ThinktwiceEnv, tmp_path: Path) -> None:
    ours = our_traces(
        RunConfig(
            out=tmp_path,
            world="fake",
            world_options={"cap": 40, "stay": True},
            tasks="2",
            episodes=4,
            seed=SEED,
            agent="fake",
            agent_options={"skill": SKILL},
        )
    )
    lerobot = parts(fake_env, fake_agent(), 2)
    # LeRobot's own seeds decide nothing: the environment says to the agents which episodes it plays.
    for seeds, expected in (([1000, 1001], ours[:2]), ([7, 7], ours[2:])):
        played = rollout(seeds=seeds, **lerobot)
        for row, trace in enumerate(expected):
            np.testing.assert_array_equal(played["action"][row].numpy(), trace.actions)
            np.testing.assert_array_equal(played["reward"][row].numpy(), trace.rewards)
            np.testing.assert_array_equal(played["success"][row].numpy(), trace.success)
    assert len({trace.digest() for trace in ours}) == 4
    assert any(trace.rewards.any() for trace in ours)


def test_an_episode_that_ended_rests_until_the_batch_has(tmp_path: Path) -> None:
    lerobot = parts(ThinktwiceEnv(task="fake", options="--cap 30 --fail 1:0", tasks="1"), fake_agent(), 2)
    info = eval_policy(n_episodes=2, max_episodes_rendered=1, videos_dir=tmp_path, start_seed=0, **lerobot)
    assert [episode["success"] for episode in info["per_episode"]] == [False, True]
    assert [episode["sum_reward"] for episode in info["per_episode"]] == [0.0, 1.0]
    assert Path(info["video_paths"][0]).stat().st_size > 0


def test_pictures_arrive_upright_and_bit_by_bit(fake_env: ThinktwiceEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []
    real = FakeEnv.render
    monkeypatch.setattr(FakeEnv, "render", lambda self: seen.append(real(self)) or seen[-1])
    lerobot = parts(fake_env, fake_agent(), 1)
    agent = lerobot["policy"]._rows[0].agent
    looks: list[dict[str, Any]] = []
    act = agent.act
    agent.act = lambda look: looks.append(look) or act(look)
    rollout(seeds=[0], **lerobot)
    assert looks
    assert looks[0]["task"] == "go to goal 2"
    assert looks[0]["images.front"].dtype == np.uint8
    for look in looks:
        assert any(np.array_equal(look["images.front"], picture) for picture in seen)


def test_features_are_named_as_lerobot_names_them(fake_env: ThinktwiceEnv) -> None:
    shapes = {name: feature.shape for name, feature in fake_env.features.items()}
    assert shapes == {"action": (2,), "observation.images.front": (32, 32, 3), "agent_pos": (4,)}
    assert fake_env.features_map["agent_pos"] == "observation.state"
    assert fake_env.fps == 20
    assert list(make_env(fake_env, n_envs=1)["fake"]) == [2]


def test_what_an_agent_needs_is_compared_before_the_first_step(fake_env: ThinktwiceEnv) -> None:
    with pytest.raises(ConventionError, match=r"observation.images.wrist \[3, 32, 32\]: the environment gives none"):
        parts(fake_env, ThinktwiceConfig(options="--policy random", world="libero_object"), 1)
    with pytest.raises(UsageError, match="is privileged"):
        parts(fake_env, fake_agent(agent="reflex", options="--policy expert", world="libero_object"), 1)
    with pytest.raises(ConfigError, match="camera is NAME"):
        parts(fake_env, fake_agent(cameras="front=front:sideways"), 1)


def test_another_world_behind_the_same_shapes_is_refused_at_the_first_observation() -> None:
    env = ThinktwiceEnv(task="libero_object", options="--rendering fast --height 32 --width 32")
    config = ThinktwiceConfig(options="--policy random", world_options="--rendering faithful")
    policy = make_policy(config, env_cfg=env)
    batch = env.get_env_processors()[0]({"observation.state": torch.zeros(1, 8)})
    with pytest.raises(ConventionError, match="rendering fast, the policy expects faithful"):
        policy.select_action(batch)


def test_a_mirrored_picture_is_turned_back() -> None:
    env = ThinktwiceEnv(task="fake")
    env.features["observation.images.other"] = env.features.pop("observation.images.front")
    env.features_map["observation.images.other"] = "observation.images.other"
    policy = make_policy(fake_agent(cameras="other=front:mirrored"), env_cfg=env)
    picture = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    looks: list[dict[str, Any]] = []
    agent = policy._rows[0].agent
    act = agent.act
    agent.act = lambda look: looks.append(look) or act(look)
    image = torch.from_numpy(picture[:, ::-1].copy()).permute(2, 0, 1)[None].float() / 255
    batch = {"observation.images.other": image, "observation.state": torch.zeros(1, 4), "task": ["go"]}
    policy.reset()
    policy.select_action(batch)
    np.testing.assert_array_equal(looks[0]["images.front"], picture)


def test_worlds_and_options_that_lerobot_cannot_play_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="actions are vectors of numbers; those of rooms"):
        ThinktwiceEnv(task="rooms")
    with pytest.raises(ConfigError, match="shows no camera"):
        ThinktwiceEnv(task="libero_object", options="--cameras")
    with pytest.raises(ConfigError, match="does not hold options"):
        ThinktwiceEnv(task="fake", options="--cup 3")
    assert "--cup" in capsys.readouterr().err
    env = ThinktwiceEnv(task="fake", tasks="0").create_envs(51)["fake"][0]
    with pytest.raises(IdentityError):
        env.reset()


def test_an_agent_is_not_trained_and_gives_no_chunks(fake_env: ThinktwiceEnv) -> None:
    policy = make_policy(fake_agent(), env_cfg=fake_env)
    for call in (policy.forward, policy.predict_action_chunk):
        with pytest.raises(UsageError):
            call({})


@pytest.mark.parametrize("seed", [0, 1, 2**16, 2**63 - 1, 2**64 - 1])
def test_a_seed_survives_being_made_float32(seed: int) -> None:
    assert array_to_seed(seed_to_array(seed).astype(np.float32)) == seed


@pytest.fixture
def flow_checkpoint(save_flow: Callable[..., Path], tmp_path: Path) -> Path:
    """One that acts on fast pictures of 24 pixels."""
    conventions = libero_conventions(("agentview", "wrist"), height=24, width=24, rendering="fast")
    return save_flow(tmp_path / "flow", conventions, deviation=0.5, head_width=32, head_blocks=1, n_action_steps=4)


SPY = """
import os
from thinktwice.rollouts.lerobot.modeling_thinktwice import ThinktwicePolicy

real = ThinktwicePolicy.select_action

def select_action(self, batch, **kwargs):
    action = real(self, batch, **kwargs)
    with open(os.environ["SPY_FILE"], "ab") as file:
        file.write(action.numpy().tobytes())
    return action

ThinktwicePolicy.select_action = select_action
"""
"""A plug-in of the test's own: it writes down what the policy gave."""


@pytest.mark.sim
def test_the_real_command_plays_libero_with_a_deliberating_agent(flow_checkpoint: Path, tmp_path: Path) -> None:
    agent = {"gate": "always", "selector": "medoid", "candidates": 4}
    world = {"rendering": "fast", "height": 24, "width": 24, "max_steps": 10}
    (tmp_path / "spy").mkdir()
    (tmp_path / "spy" / "__init__.py").write_text(SPY)
    command = [
        str(Path(sys.executable).with_name("lerobot-eval")),
        "--env.discover_packages_path=thinktwice.rollouts.lerobot",
        "--env.type=thinktwice",
        "--env.task=libero_object",
        "--env.tasks=1",
        f"--env.options={_line(world)}",
        "--policy.discover_packages_path=spy",
        "--policy.type=thinktwice",
        "--policy.agent=attc",
        f"--policy.options=--policy bundled:{flow_checkpoint} {_line(agent)}",
        "--eval.n_episodes=1",
        f"--output_dir={tmp_path / 'eval'}",
    ]
    given = tmp_path / "given"
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(tmp_path), "SPY_FILE": str(given)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    (ours,) = our_traces(
        RunConfig(
            out=tmp_path,
            world="libero_object",
            world_options=world,
            tasks="1",
            episodes=1,
            agent="attc",
            agent_options={"policy": f"bundled:{flow_checkpoint}", **agent},
        )
    )
    assert [decision.mode for decision in ours.decisions] == ["deliberate"] * 3
    result = json.loads((tmp_path / "eval" / "eval_info.json").read_text())["per_task"][0]
    assert (result["task_group"], result["task_id"]) == ("libero_object", 1)
    assert result["metrics"]["successes"] == [bool(ours.success.any())]
    assert result["metrics"]["sum_rewards"] == [float(ours.rewards.sum())]
    np.testing.assert_array_equal(np.fromfile(given, np.float32).reshape(-1, 7), ours.actions)
    assert Path(result["metrics"]["video_paths"][0]).stat().st_size > 0


def _line(options: dict[str, Any]) -> str:
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in options.items())
