"""Play the scripted expert on LIBERO tasks and print a table of successes per task.

    python benchmarks/expert_table.py --suite libero_goal --tasks 0-9 --episodes 10

Episode k of a task begins at its stored initial state k with seed k (states 0-9 are the project's tuning
states).  Every finished episode is kept in ``--out``; a second call plays only what is missing.  Without cameras.

    python benchmarks/expert_table.py --markdown expert_table.jsonl

prints the table of files instead of playing; an episode of a later file takes the place of the same one of an earlier.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import tyro
from scipy.stats import binomtest

from thinktwice.agents.policies.expert import build_expert
from thinktwice.envs.libero.env import LiberoEnv

type Result = dict[str, object]

_GOOD = 0.8
"""The share of successes from which a task counts as solved."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Arguments:
    """What to play."""

    suite: str = "libero_10"
    """libero_spatial, libero_object, libero_goal, libero_10 or libero_90."""
    tasks: str = "0-9"
    """Task numbers, such as 0,2,5-9."""
    episodes: int = 10
    """Initial states per task, from state 0 on."""
    workers: int = 1
    """Processes."""
    out: Path = Path("expert_table.jsonl")
    """One JSON line per finished episode."""
    markdown: tuple[Path, ...] = ()
    """Print the table of these files and play nothing."""


def play(env: LiberoEnv, task: str, index: int) -> Result:
    """One episode: whether it succeeded, after how many steps, and the phase that it ended in."""
    began = time.perf_counter()
    observation, _ = env.reset(seed=index, options={"task": task, "init_state": index})
    policy = build_expert("", env)
    phase, success, truncated = "", False, False
    while not (success or truncated):
        proposal = policy.propose(observation, 1, seed=0)
        phase = proposal.notes["phase"]
        _, success, truncated, _ = env.step_blind(proposal.chunks[0][0])
    return {
        "task": task,
        "init_state": index,
        "success": success,
        "steps": env.elapsed_steps,
        "phase": phase,
        "instruction": env.task.language,
        "seconds": round(time.perf_counter() - began, 1),
    }


def worker(job: tuple[str, list[int], Path]) -> None:
    """Play the missing episodes of one task, appending each to the file as it ends."""
    task, indices, out = job
    env = LiberoEnv(task, cameras=())
    for index in indices:
        line = json.dumps(play(env, task, index))
        with out.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    env.close()


def numbers(text: str) -> list[int]:
    """``0,2,5-7`` as ``[0, 2, 5, 6, 7]``."""
    result: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        result.extend(range(int(first), int(last or first) + 1))
    return result


def table(results: list[Result]) -> str:
    """Successes, Wilson 95% interval and mean steps of the successes per task, and how many tasks are good."""
    lines = ["| task | instruction | successes | 95% interval | mean steps |", "| --- | --- | --- | --- | --- |"]
    tasks = sorted({str(result["task"]) for result in results}, key=_order)
    good = 0
    for task in tasks:
        mine = [result for result in results if result["task"] == task]
        won = [result for result in mine if result["success"]]
        interval = binomtest(len(won), len(mine)).proportion_ci(method="wilson")
        steps = f"{sum(int(str(result['steps'])) for result in won) / len(won):.0f}" if won else ""
        good += len(won) >= _GOOD * len(mine)
        lines.append(
            f"| {task} | {mine[0]['instruction']} | {len(won)}/{len(mine)} "
            f"| {interval.low:.0%}-{interval.high:.0%} | {steps} |"
        )
    won_all = sum(bool(result["success"]) for result in results)
    lines += ["", f"{good} of {len(tasks)} tasks at {_GOOD:.0%} or more; {won_all} of {len(results)} episodes."]
    return "\n".join(lines)


def _order(task: str) -> tuple[str, int]:
    suite, _, number = task.partition("/")
    return suite, int(number)


def read(files: Iterable[Path]) -> list[Result]:
    """The episodes of files, one of each; of the same episode the last."""
    episodes: dict[tuple[object, object], Result] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            result: Result = json.loads(line)
            episodes[result["task"], result["init_state"]] = result
    return list(episodes.values())


def main(arguments: Arguments) -> None:
    """Play what is missing, then print the table of what was asked for."""
    if arguments.markdown:
        sys.stdout.write(table(read(arguments.markdown)) + "\n")
        return
    known = read([arguments.out]) if arguments.out.exists() else []
    tasks = [f"{arguments.suite}/{number}" for number in numbers(arguments.tasks)]
    jobs: list[tuple[str, list[int], Path]] = []
    for task in tasks:
        played = {result["init_state"] for result in known if result["task"] == task}
        missing = [index for index in range(arguments.episodes) if index not in played]
        if missing:
            jobs.append((task, missing, arguments.out))
    # spawn: a simulator must not be inherited.
    with multiprocessing.get_context("spawn").Pool(arguments.workers, maxtasksperchild=1) as pool:
        for done, _ in enumerate(pool.imap_unordered(worker, jobs), 1):
            sys.stderr.write(f"{done} of {len(jobs)} tasks played\n")
    wanted = range(arguments.episodes)
    asked = [result for result in read([arguments.out]) if result["task"] in tasks and result["init_state"] in wanted]
    sys.stdout.write(table(asked) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Arguments))
