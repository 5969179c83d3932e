"""``thinktwice sim-fault``, against the fake bridge."""

from __future__ import annotations

import pytest

from thinktwice.envs.ros import FakeBridge
from thinktwice.envs.ros.sim_faults import FAULT_TOPIC, FAULTS, FaultControl
from thinktwice.errors import WorldError
from thinktwice.scripts import cli


def test_a_fault_of_another_name_or_without_an_arm_is_refused_with_what_to_do(capsys) -> None:
    assert cli.run(["sim-fault", "froze"]) == 2
    assert "Did you mean 'frozen'? Choose from: none, frozen, joints-silent" in capsys.readouterr().err
    with FakeBridge() as bridge, FaultControl(bridge.url) as control:
        with pytest.raises(WorldError, match=r"no simulated arm took the fault within 0\.3 s .*without --libero"):
            control.set(FAULTS["frozen"][0], timeout=0.3)
        assert bridge.published(FAULT_TOPIC)[0]["data"] == FAULTS["frozen"][0].model_dump_json()


@pytest.mark.parametrize(("flag", "seconds"), [("--after", "-1"), ("--for", "-3"), ("--for", "inf"), ("--for", "nan")])
def test_a_fault_of_impossible_length_is_refused_before_it_is_raised(
    flag: str, seconds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["sim-fault", "frozen", flag, seconds, "--port", "9"]) == 2
    assert f"{flag} must be seconds, 0 or more, got {seconds}." in capsys.readouterr().err
