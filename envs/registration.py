"""Gymnasium ids of the worlds.  Registering imports nothing but gymnasium."""

from __future__ import annotations

import gymnasium as gym

LIBERO = "thinktwice/Libero-v0"
ALFWORLD = "thinktwice/ALFWorld-v0"
ROOMS = "thinktwice/Rooms-v0"
ROS_ARM = "thinktwice/RosArm-v0"
R2R = "thinktwice/R2R-v0"
FAKE = "thinktwice/Fake-v0"

_ENTRY_POINTS = {
    LIBERO: "thinktwice.envs.libero.env:LiberoEnv",
    ALFWORLD: "thinktwice.envs.alfworld.env:AlfworldEnv",
    ROOMS: "thinktwice.envs.rooms.env:RoomsEnv",
    ROS_ARM: "thinktwice.envs.ros.env:RosArmEnv",
    R2R: "thinktwice.envs.r2r.env:R2REnv",
    FAKE: "thinktwice.envs.fakes:FakeEnv",
}


def register_worlds() -> None:
    """Register every world once.

    The worlds count their own steps and order-enforce in `MultiStep`, so gymnasium's time limit and
    order wrappers stay off, and nothing stands between a caller and the environment.
    """
    for env_id, entry_point in _ENTRY_POINTS.items():
        if env_id not in gym.registry:
            gym.register(
                env_id,
                entry_point=entry_point,
                order_enforce=False,
                disable_env_checker=True,
                nondeterministic=env_id == ROS_ARM,
            )
