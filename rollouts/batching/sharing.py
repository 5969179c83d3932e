"""Whether the workers share a policy, how many workers there are, and how many observations go through it together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import parse_qsl

from ...agents.catalog import SHAREABLE
from ...errors import ConfigError
from .. import machine

type Batching = Literal["auto", "on", "off"]

ON_GPU, ON_CPU = 8, 4
"""Observations in a pass.  A CPU computes the padding of a batch that is not full, a GPU hardly notices it.

It must not follow from the number of workers: it changes the last bits of what a policy proposes.
"""

WORKER_BYTES = 2.5e9
"""For one worker with a simulator, its GL context and torch: LIBERO's with the bundled policy, rounded up."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SharedPolicy:
    """A policy that is held outside the workers.

    Attributes:
        policy: the ``--policy`` value.
        devices: one holder each: what ``CUDA_VISIBLE_DEVICES`` says in it, or None to leave that as it is.
        gpu: whether each holder needs a GPU.
    """

    policy: str
    devices: tuple[str | None, ...]
    gpu: bool

    def line(self) -> str:
        """For people: what is held where."""
        option = SHAREABLE[self.policy.partition(":")[0]]
        together = dict(parse_qsl(self.policy.partition("?")[2])).get(option, "1") if option else "1"
        held = "one process" if len(self.devices) == 1 else f"{len(self.devices)} processes"
        device = "GPU" if self.gpu else "CPU"
        return f"the workers share {self.policy}: {held} on the {device}, observations in a pass: {together}"


def share(
    batching: Batching, agent: str, options: Any, *, workers: int, gpus: Callable[[], tuple[str, ...]]
) -> tuple[Any, SharedPolicy | None]:
    """Decide whether the workers share the agent's policy.

    Args:
        batching: what was asked for.  ``"auto"`` shares on a GPU, where every copy needs a context and memory of its
            own; workers on a CPU compute at once with copies of their own, and would wait for each other with one.
        agent: its name, for messages.
        options: an instance of its options.
        workers: how many there are.
        gpus: names those that a policy may use; asked only where it matters.

    Returns:
        The agent's options, whose ``policy`` says how many observations share a pass where it can be said; and what is
        shared, or None.

    Raises:
        ConfigError: sharing was asked for, and the policy cannot be shared.
    """
    spec: str | None = getattr(options, "policy", None)
    name = (spec or "").partition(":")[0]
    if batching == "off" or spec is None or name not in SHAREABLE:
        if batching == "on":
            no_policy = f"agent {agent} has no --policy that workers could share"
            what = no_policy if spec is None else f"the policy {spec!r} cannot be shared by workers"
            raise ConfigError(
                f"--batching on: {what}. Policies that can be shared: {', '.join(SHAREABLE)}. Leave --batching out."
            )
        return options, None
    given = dict(parse_qsl(spec.partition("?")[2]))
    device = given.get("device", "")
    if batching == "auto" and workers == 1:
        return options, None
    found = () if device else gpus()
    on_gpu = device.startswith("cuda") or bool(found)
    if batching == "auto" and not on_gpu:
        return options, None
    option = SHAREABLE[name]
    if option is not None and option not in given:
        spec = _with(spec, option, ON_GPU if on_gpu else ON_CPU)
    devices = found[:workers] or (None,)
    return dataclasses.replace(options, policy=spec), SharedPolicy(policy=spec, devices=devices, gpu=on_gpu)


def default_workers(episodes: int) -> int:
    """As many as there are cores and episodes, and as free memory holds."""
    free = machine.free_memory()
    room = machine.cores() if free is None else int(free // WORKER_BYTES)
    return max(1, min(machine.cores(), room, episodes))


def _with(spec: str, option: str, value: int) -> str:
    name, colon, argument = spec.partition(":")
    joint = "&" if "?" in argument else "?"
    return f"{name}{colon or ':'}{argument}{joint}{option}={value}"
