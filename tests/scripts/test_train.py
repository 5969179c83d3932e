from __future__ import annotations

from pathlib import Path

import pytest

from thinktwice.errors import ConfigError, UsageError
from thinktwice.scripts import train
from thinktwice.scripts.train_policy import parse

RECIPE = Path(train.__file__).parents[1] / "agents" / "training" / "policy.yaml"


def test_the_recipe_in_the_repository_is_valid() -> None:
    config = parse(["--config", str(RECIPE)])
    assert config.steps == 20000
    assert config.data[1] == Path("demos/libero_object/frames")


def test_the_command_line_overrides_the_file(tmp_path: Path) -> None:
    config = parse(["--config", str(RECIPE), "--steps", "7", "--data", "a", "b", "--out", str(tmp_path)])
    assert (config.steps, config.data, config.out) == (7, (Path("a"), Path("b")), tmp_path)
    assert config.ema == 0.998


def test_unknown_settings_get_a_suggestion(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("data: [a]\nout: b\nstep: 3\n")
    with pytest.raises(ConfigError, match="steps"):
        parse(["--config", str(path)])


def test_settings_of_a_wrong_type_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("data: [a]\nout: b\nsteps: many\n")
    with pytest.raises(ConfigError, match="steps"):
        parse(["--config", str(path)])


def test_only_what_exists_can_be_trained(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="there is no model 'polcy' to train"):
        train.main(["polcy"])
    assert train.main([]) == 0
    assert "policy" in capsys.readouterr().out
