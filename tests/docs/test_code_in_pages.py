"""The code in the documentation works: command lines parse with the real parsers, Python samples run.

A sample that cannot run everywhere says so in its title (```python title="needs an arm behind a bridge") and is
skipped; a fence that is no command to type has the language ``text``.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import tyro

from thinktwice.agents.catalog import check_policy_name
from thinktwice.envs import world_entry
from thinktwice.rollouts import RunConfig, run
from thinktwice.rollouts.config import make_plan
from thinktwice.scripts import rollout
from thinktwice.scripts.cli import COMMANDS
from thinktwice.scripts.cli import run as run_command

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
NOT_TYPED = ("text", "python", "yaml", "json", "toml")


@dataclasses.dataclass(frozen=True)
class Fence:
    page: str
    line: int
    info: str
    code: str

    @property
    def language(self) -> str:
        return self.info.split()[0] if self.info.split() else ""

    @property
    def needs(self) -> str | None:
        found = re.search(r'title="(needs [^"]*)"', self.info)
        return found[1] if found else None


def fences() -> Iterator[Fence]:
    for page in PAGES:
        text = page.read_text()
        for found in FENCE.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield Fence(str(page.relative_to(ROOT)), line, found[2].strip(), found[3])


def command_lines(fence: Fence) -> Iterator[list[str]]:
    """What a person types, in words: prompts, comments and ellipses are left out, variables put in."""
    variables: dict[str, str] = {}
    for line in fence.code.replace("\\\n", " ").splitlines():
        typed = re.sub(r"\$(\w+)", lambda found: variables.get(found[1], found[0]), line.removeprefix("$ "))
        if not re.match(r"^(\.venv/bin/)?(thinktwice|python|make|pytest)(\s|$)|^\w+=", typed):
            continue
        words = shlex.split(typed, comments=True)
        while words and re.match(r"^\w+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        words = list(itertools.takewhile(lambda word: word not in ("&&", "|", ">", ";"), words))
        if words:
            yield [word for word in words if word != "…"]


TYPED = [
    pytest.param(words, id=f"{fence.page}:{fence.line} {' '.join(words)[:60]}")
    for fence in fences()
    if fence.language not in NOT_TYPED
    for words in command_lines(fence)
]


class Parsed(Exception):
    """The command line was understood; nothing is run."""


@pytest.fixture
def parse_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = tyro.cli

    def cli(*arguments: Any, **options: Any) -> NoReturn:
        raise Parsed(real(*arguments, **options))

    def manifest(_: Path) -> dict[str, Any]:
        # A run that is resumed takes its options from its record.
        config = make_plan(RunConfig(world="fake", agent="fake", out=tmp_path)).recorded_config()
        return {"config": config, "operation": {}}

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(tyro, "cli", cli)
    monkeypatch.setattr(rollout, "read_manifest", manifest)


@pytest.mark.parametrize("words", TYPED)
def test_a_command_line_is_understood(words: list[str], parse_only: None) -> None:
    program, *arguments = words
    if program.endswith("thinktwice"):
        understood(arguments)
    elif program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(arguments) - set(targets) == set()
    elif program == "pytest":
        assert all((ROOT / word).exists() for word in arguments if word.startswith("tests/"))
    elif arguments[:1] == ["-m"]:
        assert_module_exists(*arguments[1:])
    elif arguments[0] != "-c":
        assert (ROOT / arguments[0]).exists()


def understood(arguments: list[str]) -> None:
    try:
        status = run_command(arguments)
    except Parsed as parsed:
        options = parsed.args[0]
    else:
        pytest.fail(f"ended with status {status} before its options were read")
    # Names are checked after parsing, in the commands themselves.
    for part in vars(options).values() if arguments[0] in ("rollout", "deploy") else [options]:
        if getattr(part, "policy", None):
            check_policy_name(part.policy)
        if isinstance(getattr(part, "world", None), str):
            world_entry(part.world)


def assert_module_exists(module: str, *names: str) -> None:
    if module == "benchmarks":
        assert all((ROOT / "benchmarks" / f"{name}.py").exists() for name in names if not name.startswith("-"))
    elif module.split(".", maxsplit=1)[0] in ("benchmarks", "thinktwice"):
        path = ROOT.joinpath(*module.removeprefix("thinktwice.").split("."))
        assert path.with_suffix(".py").exists(), module


def test_the_pages_show_every_command() -> None:
    shown = {param.values[0][1] for param in TYPED if param.values[0][0].endswith("thinktwice")}
    assert set(COMMANDS) <= shown


def samples() -> Iterator[Any]:
    """The Python samples of each page, in order, as one program."""
    seen: set[str] = set()
    for page, found in itertools.groupby(fences(), key=lambda fence: fence.page):
        python = [fence for fence in found if fence.language == "python"]
        for fence in python:
            if fence.needs:
                yield pytest.param("", id=f"{page}:{fence.line}", marks=pytest.mark.skip(reason=fence.needs))
        program = "\n".join(fence.code for fence in python if not fence.needs)
        if program and program not in seen:
            seen.add(program)
            simulated = re.search(r"(Libero|Rooms)-v0", program)
            yield pytest.param(program, id=page, marks=[pytest.mark.slow, *([pytest.mark.sim] if simulated else [])])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run that the pages call ``runs/try``."""
    folder = tmp_path_factory.mktemp("pages")
    out = folder / "runs" / "try"
    run(RunConfig(world="fake", agent="fake", tasks="0", episodes=2, agent_options={"skill": 0.9}, out=out))
    return folder


@pytest.mark.parametrize("program", list(samples()))
def test_a_sample_runs(program: str, recorded: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=recorded, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
