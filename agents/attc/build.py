"""``--agent attc``: the agent that its options name, with every mismatch found before the first step."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, cast

import gymnasium as gym

from ...critics import Critic
from ...envs import DeclaresConventions, check_compatible
from ...errors import ConfigError, UsageError, choices
from ..catalog import POLICIES, build_policy
from ..policy import Policy
from .agent import AttcAgent
from .clutch import load_clutch
from .distances import ChunkMetric, action_weights
from .gates import CRITIC, AttcGate, CriticGate, FixedGate, ThresholdGate, describe_gate
from .measures import MEASURES, MeasureSettings, build_measure
from .selection import CONSENSUS, Selector
from .shipped import BUNDLED, clutch_file, critic_folder
from .tournaments import JUDGED

type GateName = Literal["dtw", "pairwise", "temporal", "velocity", "critic", "random", "never", "always"]
type SelectorName = Literal[
    "first",
    "random",
    "medoid",
    "mean",
    "nearest",
    "copeland",
    "knockout",
    "medoid-veto",
    "medoid-tie-break",
    "oracle",
]

MARGIN = 0.05
"""The default margin: an untrained critic's rounding is far below it, and a critic that is sure is far above."""

GRIPPER_WEIGHT = 0.25
"""A gripper's command jumps by 2 where it changes its mind, and a motion's entries by a few tenths: a quarter of it is
about as much as they."""

FAKE_CRITIC = "fake"


@dataclasses.dataclass(frozen=True, kw_only=True)
class AttcOptions:
    """Options of ``--agent attc``."""

    policy: str | None = None
    """What proposes: bundled, bundled:FOLDER, lerobot:PATH_OR_HUB_ID, … Not given: bundled in LIBERO; elsewhere it must
    be named."""
    execute: int | None = None
    """Actions to execute of each chunk before the next look. Not given: as the checkpoint was made for, or all."""
    gate: GateName | None = None
    """When to deliberate: where the dtw, pairwise, temporal, velocity or critic doubt is above a threshold; or random,
    never, always."""
    clutch: Path | None = None
    """What thinktwice calibrate wrote: the gate, its weights and its threshold, for one checkpoint. bundled and
    bundled:NAME are the bundled policy's own; it is taken for that policy when neither gate nor clutch is given."""
    threshold: float | None = None
    """A threshold given by hand instead, in the gate's unit."""
    rate: float | None = None
    """With --gate random: the share of decisions that deliberate."""
    observe: bool = False
    """Measure doubt and never deliberate: the rollouts that thinktwice calibrate reads."""
    gate_candidates: int = 2
    """Candidates that --gate pairwise and --gate critic compare."""
    gripper_weight: float = GRIPPER_WEIGHT
    """Weight of the gripper's entries in distances; the other entries have 1, or what the clutch says."""
    selector: SelectorName | None = None
    """What chooses: copeland with a critic, else medoid, when not given. oracle is privileged (LIBERO's expert)."""
    critic: str | None = None
    """Folder of a trained critic; bundled and bundled:NAME are the bundled policy's own, fake is for tests. For
    copeland, knockout, medoid-veto and medoid-tie-break."""
    candidates: int = 16
    """Chunks to choose from, the reflex and the gate's among them."""
    margin: float | None = None
    """How much above one half the critic's preference must be to give up the reflex; 0.05 when not given."""


def build_attc(options: AttcOptions, env: gym.Env[Any, Any]) -> AttcAgent:
    """The agent that the options name.

    Raises:
        UsageError: no policy or gate is named, or there is none of that name.
        ConfigError: options contradict each other or the clutch, or a selector lacks its critic.
        ConventionError: the policy was trained with other conventions than the world's.
        WeightsError: the clutch or the critic is missing, damaged or of another policy.
    """
    if options.policy is None:
        raise UsageError(f"the agent attc needs a policy: --policy NAME, one of {', '.join(POLICIES)}.")
    policy = build_policy(options.policy, env)
    options = _with_bundled(options)
    world = cast("DeclaresConventions", env.unwrapped).conventions
    check_compatible(world, policy.conventions, world_name=str(env.unwrapped), policy_name=policy.name)
    plain = ChunkMetric(
        weights=action_weights(world.action, scale=None, gripper=options.gripper_weight), execute=options.execute
    )
    judge = cache(lambda: _critic(options.critic, policy))
    gate, settings = _gate(options, policy, plain, judge)
    # Selectors measure as the clutch does, except that the velocity gate's weights are for normalised actions.
    metric = settings.metric if options.clutch is not None and settings.name != "velocity" else plain
    described = describe_gate(gate, settings.to_json())
    if options.clutch is not None:
        described["clutch"] = clutch_file(options.clutch).name
    select, selector = _selector(options, judge, env, asks=isinstance(gate, CriticGate))
    return AttcAgent(
        policy=policy,
        gate=gate,
        select=select,
        candidates=options.candidates,
        metric=metric,
        settings={"gate": described, "selector": selector},
    )


def _with_bundled(options: AttcOptions) -> AttcOptions:
    """The bundled policy's own clutch and critic, where neither gate nor clutch is given."""
    given = (options.gate, options.clutch, options.threshold, options.rate, options.observe or None)
    if options.policy != BUNDLED or any(value is not None for value in given):
        return options
    return dataclasses.replace(options, clutch=Path(BUNDLED), critic=options.critic or BUNDLED)


def _gate(
    options: AttcOptions, policy: Policy, plain: ChunkMetric, judge: Callable[[], Critic]
) -> tuple[AttcGate, MeasureSettings]:
    name = options.gate
    if name in ("never", "always"):
        _refuse(options, ("clutch", "threshold", "rate", "observe"), f"--gate {name} looks at nothing")
        needed = options.candidates if name == "always" else 1
        settings = MeasureSettings(name=name, metric=plain, gripper_weight=options.gripper_weight)
        return FixedGate(always=name == "always", candidates_needed=max(1, needed)), settings
    if options.clutch is not None:
        return _calibrated(options, options.clutch, policy, plain, judge)
    if name is None:
        raise UsageError(
            "say when to deliberate: --clutch FILE (see thinktwice calibrate --help), --gate never, --gate always, or "
            f"--gate NAME with --threshold or --observe, NAME one of {', '.join((*MEASURES, CRITIC))}."
        )
    settings = MeasureSettings(
        name=name, metric=plain, gripper_weight=options.gripper_weight, candidates=options.gate_candidates
    )
    if name == CRITIC:
        settings = dataclasses.replace(settings, critic=_weights(judge()))
        threshold = _threshold(options)
        return CriticGate(critic=judge(), threshold=threshold, candidates_needed=settings.candidates), settings
    return ThresholdGate(measure=build_measure(settings, policy), threshold=_threshold(options)), settings


def _calibrated(
    options: AttcOptions, path: Path, policy: Policy, plain: ChunkMetric, judge: Callable[[], Critic]
) -> tuple[AttcGate, MeasureSettings]:
    _refuse(options, ("threshold", "rate", "observe"), "--clutch FILE brings its own threshold")
    path = clutch_file(path)
    clutch = load_clutch(path)
    clutch.check_policy(policy.describe(), source=str(path))
    settings = clutch.measure
    if options.gate not in (None, settings.name):
        raise ConfigError(f"the clutch {path} measures {settings.name!r}, not --gate {options.gate}. Leave --gate out.")
    if settings.metric.execute != options.execute:
        raise ConfigError(
            f"the clutch {path} was calibrated on decisions that execute {settings.metric.execute or 'all'} actions, "
            f"not {options.execute or 'all'}: chunks were compared as far as they were executed. Calibrate again."
        )
    if len(settings.metric.weights) != len(plain.weights):
        raise ConfigError(
            f"the clutch {path} weighs actions of {len(settings.metric.weights)} entries, the world's have "
            f"{len(plain.weights)}. It was calibrated in another world."
        )
    if settings.name == CRITIC:
        if (found := _weights(judge())) != settings.critic:
            raise ConfigError(
                f"the clutch {path} was calibrated with another critic ({settings.critic} there, {found} now). Give "
                "that one with --critic, or record rollouts with --gate critic --observe and calibrate again."
            )
        gate = CriticGate(critic=judge(), threshold=clutch.threshold, candidates_needed=settings.candidates)
        return gate, settings
    return ThresholdGate(measure=build_measure(settings, policy), threshold=clutch.threshold), settings


def _threshold(options: AttcOptions) -> float:
    if options.gate == "random":
        _refuse(options, ("threshold", "observe"), "--gate random has a --rate")
        if options.rate is None or not 0.0 <= options.rate <= 1.0:
            raise ConfigError(f"--gate random needs --rate, the share of decisions from 0 to 1, got {options.rate}.")
        return 1.0 - options.rate
    _refuse(options, ("rate",), "--rate goes with --gate random; thinktwice calibrate --rate makes a clutch of a rate")
    if options.observe:
        _refuse(options, ("threshold",), "--observe never deliberates")
        return math.inf
    if options.threshold is None:
        raise ConfigError(
            f"--gate {options.gate} needs a threshold: --clutch FILE, --threshold X, or --observe to measure only."
        )
    return options.threshold


def _refuse(options: AttcOptions, names: tuple[str, ...], why: str) -> None:
    given = [name for name in names if getattr(options, name) not in (None, False)]
    if given:
        raise ConfigError(f"{why}, so --{given[0]} makes no sense beside it. Leave it out.")


def _selector(
    options: AttcOptions, judge: Callable[[], Critic], env: gym.Env[Any, Any], *, asks: bool
) -> tuple[Selector, dict[str, Any]]:
    """The selector, and what the record says of it; ``asks``: the gate has the critic already."""
    name = options.selector or ("copeland" if options.critic else "medoid")
    described: dict[str, Any] = {"name": name}
    if name in JUDGED:
        if options.critic is None:
            raise ConfigError(
                f"the selector {name!r} asks a critic: --critic FOLDER (see thinktwice train critic --help). Without "
                f"one choose from {', '.join(CONSENSUS)}."
            )
        margin = MARGIN if options.margin is None else options.margin
        if not 0.0 <= margin < 0.5:
            raise ConfigError(f"margin must be from 0 to below 0.5, got {margin}.")
        critic = judge()
        described |= {"margin": margin, "critic": _described(critic, options.critic)}
        select: Selector = partial(JUDGED[name], critic=critic, margin=margin)
    else:
        if (options.critic is not None and not asks) or options.margin is not None:
            raise ConfigError(f"the selector {name!r} asks no critic. Leave --critic and --margin out.")
        select = _without_critic(name, env)
        described |= {"privileged": True} if name == "oracle" else {}
    return select, described


def _without_critic(name: str, env: gym.Env[Any, Any]) -> Selector:
    if name == "oracle":
        from .oracle import ExpertOracle

        return ExpertOracle(env)
    if name not in CONSENSUS:
        raise UsageError(f"there is no selector {name!r}. {choices(name, [*CONSENSUS, *JUDGED, 'oracle'])}")
    return CONSENSUS[name]


def _critic(source: str | None, policy: Policy) -> Critic:
    if source is None:
        raise ConfigError(
            "the gate 'critic' asks a critic: --critic FOLDER (thinktwice train critic --help) or --critic bundled."
        )
    if source == FAKE_CRITIC:
        from ...critics.fakes import FakeCritic

        return FakeCritic()
    from ...critics import load_critic

    return load_critic(critic_folder(source), policy.describe().get("sha256"))


def _weights(critic: Critic) -> str | None:
    """The hash of the critic's weights; None where it has none."""
    described = _described(critic, "")
    return described.get("sha256") if isinstance(described, dict) else None


def _described(critic: Critic, source: str) -> Any:
    """What the critic says of itself, where it says anything."""
    describe = getattr(critic, "describe", None)
    return describe() if callable(describe) else source
