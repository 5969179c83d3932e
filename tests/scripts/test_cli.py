"""The command line answers mistakes with a sentence, and starts quickly."""

import importlib
import subprocess
import sys

import pytest

from thinktwice.scripts import cli


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_exists_and_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(cli.COMMANDS[name][0], "thinktwice.scripts")
    assert callable(module.main)
    try:
        status = cli.run([name, "--help"])
    except SystemExit as stopped:  # argparse and tyro leave this way
        status = stopped.code
    assert status == 0
    assert f"usage: thinktwice {name}" in capsys.readouterr().out


def test_a_wrong_command_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rolout"]) == 2
    assert "Did you mean 'rollout'?" in capsys.readouterr().err


def test_errors_come_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["envs", "libero_objects"]) == 2
    shown = capsys.readouterr().err
    assert "Did you mean 'libero_object'?" in shown
    assert "Traceback" not in shown


def test_the_installed_command_runs() -> None:
    done = subprocess.run([sys.executable, "-m", "thinktwice", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == cli.__version__
