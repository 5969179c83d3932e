"""What the cameras show."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from thinktwice.envs.chunks import Array
from thinktwice.envs.libero.env import LiberoEnv

pytestmark = pytest.mark.sim

FAITHFUL = """
import numpy as np
from thinktwice.envs.libero.env import LiberoEnv
from thinktwice.envs.libero.install import import_libero
from thinktwice.envs.libero.suites import stored_states
import_libero()
from libero.libero.envs import OffScreenRenderEnv
ours = LiberoEnv(task="libero_goal/2", height=96, width=96)
theirs = OffScreenRenderEnv(
    bddl_file_name=str(ours.task.bddl), camera_heights=96, camera_widths=96, hard_reset=False
)
theirs.seed(7)
theirs.reset()
theirs.set_init_state(stored_states(ours.task)[5])
for _ in range(10):
    theirs.step([0, 0, 0, 0, 0, 0, -1])
observation, _ = ours.reset(seed=7, options={"init_state": 5})
for move in np.random.default_rng(0).uniform(-1, 1, (40, 7)).astype(np.float32):
    theirs.step(move.astype(np.float64))
    ours.step_blind(move)
observation = ours.observe()
print(np.array_equal(theirs.sim.data.qpos, ours.data.qpos), np.array_equal(theirs.sim.data.qvel, ours.data.qvel))
theirs.sim.forward()
for camera, name in (("agentview", "agentview"), ("robot0_eye_in_hand", "wrist")):
    frame = theirs.sim.render(camera_name=camera, width=96, height=96)[::-1]
    print(np.array_equal(frame, observation[f"images.{name}"]))
"""


def test_faithful_frames_and_physics_are_liberos_own_bit_for_bit() -> None:
    # In a process of its own: LIBERO's renderer complains when it is taken down.
    done = subprocess.run([sys.executable, "-c", FAITHFUL], check=True, capture_output=True, text=True)
    assert done.stdout.split()[-4:] == ["True"] * 4


@pytest.fixture(scope="module", params=["fast", "faithful"])
def env(request: pytest.FixtureRequest) -> Iterator[LiberoEnv]:
    env = LiberoEnv(task="libero_object/0", height=128, width=160, rendering=request.param)
    env.reset(seed=0, options={"init_state": 0})
    yield env
    env.close()


def middle_of_soup(env: LiberoEnv, shift: tuple[float, float, float]) -> Array:
    """Row and column of the soup in the agent view when it is moved, from what it changes in the picture."""
    state = env.save_state()
    joint = env.model.joint(env.model.body("alphabet_soup_1_main").jntadr[0])
    start = int(joint.qposadr[0])

    def picture(offset: tuple[float, float, float]) -> Array:
        env.restore_state(state)
        env.data.qpos[start : start + 3] += offset
        import mujoco

        mujoco.mj_forward(env.model, env.data)
        return env.observe()["images.agentview"].astype(int)

    changed = np.abs(picture(shift) - picture((0, 0, 50))).sum(axis=2) > 60
    env.restore_state(state)
    assert changed.any()
    return np.argwhere(changed).mean(axis=0)


def test_the_agent_view_is_upright_and_not_mirrored(env: LiberoEnv) -> None:
    here = middle_of_soup(env, (0, 0, 0))
    # The camera stands in front of the robot and looks back at it: up is up, towards the camera (+x) is down the
    # picture, and the robot's left (+y) is on the right.
    assert middle_of_soup(env, (0, 0, 0.1))[0] < here[0] - 3
    assert middle_of_soup(env, (0.1, 0, 0))[0] > here[0] + 3
    assert middle_of_soup(env, (0, 0.1, 0))[1] > here[1] + 3


def test_frames_have_the_declared_shape_and_are_copies(env: LiberoEnv) -> None:
    first = env.observe()
    kept = first["images.wrist"].copy()
    for camera in env.conventions.cameras:
        frame = first[f"images.{camera.name}"]
        assert (frame.shape, frame.dtype) == ((camera.height, camera.width, 3), np.uint8)
        assert frame.std() > 10
    env.step(np.array([1, 1, 1, 0, 0, 1, -1], np.float32))
    assert np.array_equal(first["images.wrist"], kept)
    assert not np.array_equal(env.observe()["images.wrist"], kept)


@pytest.mark.parametrize("task", ["libero_spatial/3", "libero_10/4"])
def test_fast_frames_look_like_faithful_ones_and_leave_the_physics_alone(task: str) -> None:
    frames: dict[str, Array] = {}
    states: dict[str, Array] = {}
    for rendering in ("faithful", "fast"):
        env = LiberoEnv(task=task, height=128, width=128, rendering=rendering)
        observation, _ = env.reset(seed=1, options={"init_state": 1})
        frames[rendering] = np.stack([observation[f"images.{name}"] for name in ("agentview", "wrist")]).astype(float)
        for _ in range(5):
            env.step_blind(np.array([0.5, 0, -1, 0, 0, 0.5, 1], np.float32))
        states[rendering] = env.data.qpos.copy()
        env.close()
    assert np.array_equal(states["faithful"], states["fast"])
    assert 0 < np.abs(frames["faithful"] - frames["fast"]).mean() < 6
    # Averaged over 4 × 4 pixels, because without multisampling every edge differs by a pixel.
    blurred = {name: frame.reshape(2, 32, 4, 32, 4, 3).mean(axis=(2, 4)) for name, frame in frames.items()}
    for ours, theirs in zip(blurred["fast"], blurred["faithful"], strict=True):
        assert np.corrcoef(ours.reshape(-1), theirs.reshape(-1))[0, 1] > 0.98


def test_a_frame_larger_than_the_usual_buffer(env: LiberoEnv) -> None:
    large = LiberoEnv(task=env.task.name, cameras=("wrist",), height=500, width=700, rendering="fast")
    observation, _ = large.reset(seed=0, options={"init_state": 0})
    assert observation["images.wrist"].shape == (500, 700, 3)
    assert "images.agentview" not in observation
    large.close()


def test_the_way_of_a_chunk_begins_and_goes_where_the_gripper_does(env: LiberoEnv) -> None:
    observation, _ = env.reset(seed=0, options={"init_state": 0})
    chunk = np.zeros((12, 7), np.float32)
    chunk[:, 1] = 0.6  # to the robot's left, which is the picture's right
    ways = env.chunk_paths(observation["state"], chunk)
    assert list(ways) == ["agentview"]
    way = ways["agentview"]
    assert way.shape == (13, 2)
    assert ((way > 0.2) & (way < 0.8)).all()
    assert (np.diff(way[:, 0]) > 0).all()
    for action in chunk:
        observation, *_ = env.step(action)
    ended = env.chunk_paths(observation["state"], np.zeros((1, 7), np.float32))["agentview"][0]
    # From rest the real arm starts later than the law says; what is drawn goes the same way.
    assert np.abs(ended - way[-1]).max() < 0.03
    assert ended[0] - way[0, 0] > 0.6 * (way[-1, 0] - way[0, 0]) > 0.04


def test_without_the_standing_camera_no_way_is_drawn(blind_env: LiberoEnv) -> None:
    observation, _ = blind_env.reset(seed=0)
    assert blind_env.chunk_paths(observation["state"], np.zeros((2, 7), np.float32)) == {}
