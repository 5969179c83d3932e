"""LiberoEnv: conventions checked against the physics, success, step caps, bad input."""

import numpy as np
import pytest

from thinktwice.envs.chunks import Array
from thinktwice.envs.libero.conventions import POSITION_SCALE, ROTATION_SCALE
from thinktwice.envs.libero.env import LiberoEnv
from thinktwice.envs.libero.install import import_libero
from thinktwice.errors import ContractError, IdentityError


def test_nothing_runs_before_the_first_reset() -> None:
    env = LiberoEnv(cameras=())
    with pytest.raises(ContractError, match="call reset first"):
        env.step(np.zeros(7, np.float32))
    assert env.task.name == "libero_object/0"
    assert env.problem.objects_of_interest == ("alphabet_soup_1", "basket_1")
    assert [dim.size for dim in env.conventions.action] == [3, 3, 1]
    env.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "libero_goal/10"}, "there is no task 10"),
        ({"init_state": 50}, "0 to 49"),
        ({"init_states": 3}, "Did you mean 'init_state'"),
    ],
)
def test_a_reset_to_what_does_not_exist_is_refused_before_anything_is_built(
    options: dict[str, object], message: str
) -> None:
    env = LiberoEnv(cameras=())
    with pytest.raises(IdentityError, match=message):
        env.reset(seed=0, options=options)
    assert env.task.name == "libero_object/0"
    with pytest.raises(ContractError, match="call reset first"):
        env.observe()


@pytest.fixture
def env(blind_env: LiberoEnv) -> LiberoEnv:
    blind_env.reset(seed=0, options={"task": "libero_object/0", "init_state": 0})
    return blind_env


def moved(env: LiberoEnv, action: list[float], steps: int = 10) -> Array:
    """How the state changes while an action is repeated."""
    before = env.observe()["state"]
    for _ in range(steps):
        env.step_blind(np.array(action, np.float32))
    return env.observe()["state"] - before


@pytest.mark.sim
def test_the_declared_scales_are_the_controllers() -> None:
    config = import_libero()["robosuite"].load_controller_config(default_controller="OSC_POSE")
    assert config["output_max"] == [POSITION_SCALE] * 3 + [ROTATION_SCALE] * 3
    assert config["output_min"] == [-POSITION_SCALE] * 3 + [-ROTATION_SCALE] * 3
    assert (config["input_min"], config["input_max"], config["control_delta"]) == (-1, 1, True)


@pytest.mark.sim
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_position_command_moves_the_gripper_along_the_worlds_axis(env: LiberoEnv, axis: int, sign: int) -> None:
    start = env.observe()["state"][:3]
    action = [0.0] * 7
    action[axis] = sign
    env.step_blind(np.array(action, np.float32))
    goal = env.robosuite_env.robots[0].controller.goal_pos
    assert np.allclose(goal - start, np.array(action[:3]) * POSITION_SCALE, atol=2e-3)
    change = moved(env, action)[:3]
    assert change[axis] * sign > 0.05
    assert np.abs(np.delete(change, axis)).max() < 0.25 * abs(change[axis])
    # One step never moves farther than one unit's scale.
    assert abs(moved(env, action, 1)[axis]) < POSITION_SCALE


@pytest.mark.sim
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_rotation_command_turns_the_hand_about_the_worlds_axis(env: LiberoEnv, axis: int) -> None:
    action = [0.0] * 7
    action[3 + axis] = 0.3
    hand = env.model.body(env.robosuite_env.robots[0].robot_model.eef_name).id
    before = env.data.xmat[hand].reshape(3, 3).copy()
    moved(env, action, 6)
    turn = env.data.xmat[hand].reshape(3, 3) @ before.T
    vector = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2
    assert vector[axis] > 0.1
    assert np.abs(np.delete(vector, axis)).max() < 0.35 * vector[axis]


@pytest.mark.sim
def test_minus_one_opens_plus_one_closes_and_hold_keeps(env: LiberoEnv) -> None:
    def width() -> float:
        return float(env.observe()["state"][6] - env.observe()["state"][7])

    moved(env, [0, 0, 0, 0, 0, 0, -1])
    assert width() == pytest.approx(0.08, abs=0.004)
    moved(env, [0, 0, 0, 0, 0, 0, 1], 25)
    closed = width()
    assert closed < 0.01
    start = env.observe()["state"]
    for _ in range(20):
        env.step_blind(env.hold_action())
    assert abs(width() - closed) < 0.002
    assert np.abs(env.observe()["state"][:3] - start[:3]).max() < 0.01
    moved(env, [0, 0, 0, 0, 0, 0, -0.01], 12)
    assert width() == pytest.approx(0.08, abs=0.004), "the gripper acts by its sign alone"


@pytest.mark.sim
def test_the_state_is_what_liberos_data_sets_hold(env: LiberoEnv) -> None:
    from robosuite.utils.transform_utils import quat2axisangle

    env.step_blind(np.full(7, 0.5, np.float32))
    theirs = env.robosuite_env._get_observations(force_update=True)
    rotation = quat2axisangle(theirs["robot0_eef_quat"])
    expected = np.concatenate([theirs["robot0_eef_pos"], rotation, theirs["robot0_gripper_qpos"]]).astype(np.float32)
    assert np.array_equal(env.observe()["state"], expected)


@pytest.mark.sim
@pytest.mark.parametrize(
    "action",
    [np.full(7, np.nan), np.array([0, 0, np.inf, 0, 0, 0, 0]), np.zeros(6), np.zeros((1, 7)), np.array(["0"] * 7)],
)
def test_an_impossible_action_is_refused_and_not_executed(env: LiberoEnv, action: Array) -> None:
    before = env.data.qpos.copy()
    with pytest.raises(ContractError, match="LIBERO action"):
        env.step(action)
    assert np.array_equal(env.data.qpos, before)
    assert env.elapsed_steps == 0


@pytest.mark.sim
def test_an_action_beyond_the_bounds_acts_as_the_nearest_bound(env: LiberoEnv) -> None:
    state = env.save_state()
    far = moved(env, [5, -3, 0, 0, 0, 0, -9], 3)
    env.restore_state(state)
    assert np.array_equal(far, moved(env, [1, -1, 0, 0, 0, 0, -1], 3))


@pytest.mark.sim
def test_success_ends_the_episode_and_the_cap_cuts_it(env: LiberoEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.max_steps == 280
    monkeypatch.setattr(env, "_max_steps", 3)
    outcomes = [env.step_blind(env.hold_action()) for _ in range(3)]
    assert [(reward, terminated, truncated) for reward, terminated, truncated, _ in outcomes] == [
        (0.0, False, False),
        (0.0, False, False),
        (0.0, False, True),
    ]
    assert [info["is_success"] for *_, info in outcomes] == [False] * 3
    env.reset(seed=0, options={"init_state": 0})
    # Put the soup into the basket.
    goal = env.data.site("basket_1_contain_region").xpos
    joint = env.model.joint(env.model.body("alphabet_soup_1_main").jntadr[0])
    env.data.qpos[joint.qposadr[0] : joint.qposadr[0] + 3] = goal
    outcomes = [env.step_blind(env.hold_action()) for _ in range(3)]
    reward, terminated, truncated, info = outcomes[-1]
    assert (reward, terminated, truncated, info["is_success"]) == (1.0, True, False, True)
    assert env.check_success()


@pytest.mark.sim
def test_a_seed_draws_a_fresh_placement_inside_the_tasks_regions(env: LiberoEnv) -> None:
    places: list[Array] = []
    for seed in (1, 2):
        _, info = env.reset(seed=seed)
        assert info["init_state"] is None
        places.append(env.data.body("alphabet_soup_1_main").xpos.copy())
        (region,) = env.problem.regions["floor_target_object_region"].ranges
        x, y, _ = places[-1]
        # Settling rolls a can by a millimetre or two.
        assert region[0] - 0.005 <= x <= region[2] + 0.005
        assert region[1] - 0.005 <= y <= region[3] + 0.005
    assert not np.array_equal(places[0], places[1])


@pytest.mark.sim
@pytest.mark.parametrize(
    ("task", "support", "height"),
    [
        ("libero_spatial/4", "wooden_cabinet_1_cabinet_top", (0.1, 0.2)),
        ("libero_spatial/7", "flat_stove_1_burner", (0.0, 0.05)),
        ("libero_spatial/9", "wooden_cabinet_1_cabinet_top", (0.2, 0.25)),
    ],
)
def test_a_fresh_placement_puts_a_bowl_on_or_in_its_fixture(
    env: LiberoEnv, task: str, support: str, height: tuple[float, float]
) -> None:
    for seed in (1, 2, 3):
        env.reset(seed=seed, options={"task": task})
        bowl, fixture = env.data.body("akita_black_bowl_1_main").xpos, env.data.body(support).xpos
        assert np.linalg.norm(bowl[:2] - fixture[:2]) < 0.25, (seed, bowl, fixture)
        assert height[0] < bowl[2] - fixture[2] < height[1], (seed, bowl, fixture)


@pytest.mark.sim
def test_without_a_seed_one_is_drawn_and_reported(env: LiberoEnv) -> None:
    first, info = env.reset(options={"task": "libero_object/0"})
    again, _ = env.reset(seed=info["seed"])
    assert np.array_equal(first["state"], again["state"])
    assert env.reset()[1]["seed"] != info["seed"]
