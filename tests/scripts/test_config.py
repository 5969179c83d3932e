"""A YAML file says what the command line would, and its mistakes are answered with a suggestion."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinktwice.agents.catalog import AGENTS
from thinktwice.envs import WORLDS
from thinktwice.errors import ConfigError, RecordError, UsageError
from thinktwice.scripts import cli
from thinktwice.scripts.config import read_config
from thinktwice.scripts.rollout import parse


@pytest.fixture
def yaml_file(tmp_path: Path) -> Path:
    return tmp_path / "run.yaml"


def test_the_file_gives_the_defaults_and_the_line_overrides_them(yaml_file: Path) -> None:
    yaml_file.write_text(
        "world: fake\nout: here\ntasks: [0, fake/2]\nepisodes: 7\nmax-tries: 5\n"
        "agent: fake\nskill: 0.25\ncap: 12\nonce: marks\n"
    )
    config = parse(["--config", str(yaml_file), "--episodes", "3", "--cap", "13"])
    assert (config.world, config.agent, config.out) == ("fake", "fake", Path("here"))
    assert (config.tasks, config.episodes, config.max_tries) == ("0,fake/2", 3, 5)
    assert (config.world_options.cap, config.world_options.once) == (13, Path("marks"))
    assert (config.agent_options.skill, config.agent_options.candidates) == (0.25, 3)


def test_the_line_decides_the_world_and_the_agent(yaml_file: Path) -> None:
    yaml_file.write_text("world: libero_object\nagent: reflex\nout: here\n")
    config = parse(["fake", "--agent", "fake", "--config", str(yaml_file), "--every", "3"])
    assert (config.world, config.agent, config.agent_options.every) == ("fake", "fake", 3)


def test_a_single_task_may_be_a_number(yaml_file: Path) -> None:
    yaml_file.write_text("tasks: 2\nout: here\n")
    assert parse(["fake", "--config", str(yaml_file)]).tasks == "2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("episode: 3", "unknown option 'episode'. Did you mean 'episodes'?"),
        ("skil: 0.5\nagent: fake", "unknown option 'skil'. Did you mean 'skill'?"),
        ("skill: 0.5", "unknown option 'skill'"),
        ("episodes: many", "option episodes of run is wrong: .*integer.*'many'"),
        ("episodes: '3'", "option episodes of run is wrong"),
        ("episodes: 2.5", "option episodes of run is wrong"),
        ("video: some", "option video of run is wrong: .*'none', 'failures' or 'all'"),
        ("resume: 1", "option resume of run is wrong"),
        ("agent: 3", "agent in the configuration must be a name"),
        ("- episodes", "must hold lines like"),
        ("episodes: [", "is not YAML"),
        ("max-tries: 2\nmax_tries: 3", "twice"),
    ],
)
def test_mistakes_are_named(text: str, message: str, yaml_file: Path) -> None:
    yaml_file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        parse(["fake", "--config", str(yaml_file), "--out", "here"])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.yaml cannot be read"):
        parse(["fake", "--config", str(tmp_path / "nothing.yaml")])


def test_an_empty_file_says_nothing(yaml_file: Path) -> None:
    yaml_file.write_text("# later\n")
    assert read_config(yaml_file) == {}


@pytest.mark.parametrize("arguments", [[], ["--out", "x"], ["--tasks", "0", "fake"]])
def test_a_world_is_needed(arguments: list[str]) -> None:
    with pytest.raises(UsageError, match="say which world to play"):
        parse(arguments)


def test_names_get_suggestions() -> None:
    with pytest.raises(UsageError, match="Did you mean 'fake'"):
        parse(["fakee", "--out", "x"])
    with pytest.raises(UsageError, match="Did you mean 'reflex'"):
        parse(["fake", "--agent", "relfex", "--out", "x"])


def test_an_unknown_flag_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        parse(["fake", "--out", "x", "--episods", "3"])
    assert stopped.value.code == 2
    assert "--episodes" in capsys.readouterr().err


def test_the_run_folder_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["fake"])
    assert "--out" in capsys.readouterr().err


def test_a_folder_without_a_run_cannot_be_resumed_by_name_alone(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a run folder"):
        parse(["--resume", "--out", str(tmp_path)])


def test_help_shows_the_options_of_world_and_agent_beside_those_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.run(["rollout", "fake", "--agent", "fake", "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert all(flag in shown for flag in ("--episodes", "--cap", "--skill", "--config", "--resume"))
    assert "--fake" not in shown


def test_help_without_a_world_lists_worlds_agents_and_policies(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.run(["rollout", "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("libero_object", "reflex", "expert", "--episodes"))


@pytest.mark.parametrize("world", WORLDS)
def test_no_agent_has_an_option_that_the_run_or_a_world_has_too(world: str) -> None:
    for agent in AGENTS:
        assert parse([world, "--agent", agent, "--out", "here"]).agent == agent
