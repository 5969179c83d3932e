"""`thinktwice envs` lists what can run here without starting a simulator."""

import json

import pytest

from thinktwice.envs import WORLDS, WorldEntry
from thinktwice.scripts import cli, list_envs


def test_every_world_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["envs", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["world"] for row in rows] == list(WORLDS)
    by_name = {row["world"]: row["runs here"] for row in rows}
    assert by_name["libero_10"] == "10 tasks"
    assert by_name["libero_90"] == "90 tasks"


def test_the_tasks_of_a_world_are_numbered_as_tasks_counts_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["envs", "libero_object", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["index"] for row in rows] == [str(number) for number in range(10)]
    assert rows[0]["task"] == "libero_object/0"


def test_a_world_that_cannot_run_here_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from thinktwice.errors import MissingDependency

    class Absent(WorldEntry):
        def load(self) -> object:
            raise MissingDependency("alfworld", purpose="It", install="pip install alfworld")

    entry = Absent(module="", options="", open="", summary="a world")
    monkeypatch.setattr(list_envs, "WORLDS", {"absent": entry})
    assert cli.run(["envs", "--json"]) == 0
    assert "pip install alfworld" in json.loads(capsys.readouterr().out)[0]["runs here"]
