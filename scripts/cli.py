"""``thinktwice COMMAND …``: finds the command, runs it, and prints its errors without a traceback.

Each command is a module with ``main(arguments: Sequence[str]) -> int`` that reads its arguments with tyro.  It is
imported only when it is called, so that ``--help`` is quick and a missing extra stops nothing else.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import cast

from .. import __version__
from ..errors import ThinkTwiceError, UsageError, choices

COMMANDS: Mapping[str, tuple[str, str]] = {
    "doctor": (".doctor", "say what is missing or mismatched here, and what to run"),
    "envs": (".list_envs", "list the worlds that can be run here"),
    "rollout": (".rollout", "play episodes and record them"),
    "compare": (".compare", "pair two runs by episode and test the difference"),
    "report": (".report", "write report.html of a run, or of runs side by side"),
    "rerun": (".rerun_file", "write an episode for the Rerun viewer"),
    "dataset": (".dataset", "convert a run to a LeRobotDataset"),
    "demos": (".demos", "make demonstrations with a scripted expert"),
    "train": (".train", "train a policy from demonstrations, or a critic from pairs"),
    "pairs": (".pairs", "make preference pairs of a policy's candidates, for a critic"),
    "calibrate": (".calibrate", "find the doubt above which VLA-ATTC deliberates, from recorded rollouts"),
    "study": (".study", "play several arms on the same episodes: table, figures and page"),
    "serve": (".serve", "let other machines and programs ask an agent, over openpi's protocol"),
    "deploy": (".deploy", "run an agent on an arm behind a rosbridge server"),
    "sim-arm": (".sim_arm", "start a simulated arm as a ROS 2 node, and a rosbridge server"),
    "sim-fault": (".sim_fault", "raise and clear faults of a simulated arm that runs"),
    "replay": (".replay", "show a deployment's log, or convert it to a LeRobotDataset"),
    "segment": (".segment", "segment what an expression means in recorded frames or a video"),
    "rvas-data": (".rvas_data", "write a data set of explorations, masks and reasoning in the rooms"),
}
"""Command, then module and one line for the help."""


def usage() -> str:
    """The text of ``thinktwice --help``."""
    width = max(len(name) for name in COMMANDS)
    listed = "\n".join(f"  {name:<{width}}  {summary}" for name, (_, summary) in COMMANDS.items())
    return (
        f"thinktwice {__version__}: embodied agents that act by reflex and think twice only where it pays\n\n"
        f"usage: thinktwice COMMAND [options]\n\n{listed}\n\n"
        "thinktwice COMMAND --help says more. First time here: thinktwice doctor\n"
    )


def run(arguments: Sequence[str]) -> int:
    """Run one command line.

    Returns:
        The exit status: 0 for done, 1 for done with a bad outcome, 2 for a mistake in the call.
    """
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0
    if arguments[0] in ("-V", "--version"):
        sys.stdout.write(f"{__version__}\n")
        return 0
    name, rest = arguments[0], arguments[1:]
    try:
        if name not in COMMANDS:
            raise UsageError(f"there is no command {name!r}. {choices(name, COMMANDS)}")
        module = importlib.import_module(COMMANDS[name][0], __package__)
        return cast("int", module.main(rest))
    except ThinkTwiceError as error:
        sys.stderr.write(f"thinktwice: {error}\n")
        return 2
    except BrokenPipeError:
        # The reader went away (`thinktwice envs | head`); Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        sys.stderr.write("thinktwice: interrupted\n")
        return 130


def main() -> None:
    """The console script."""
    sys.exit(run(sys.argv[1:]))
