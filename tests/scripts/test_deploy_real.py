"""The commands end to end: a simulated arm, a deployment, its log, and a data set from it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from thinktwice.envs.ros import free_port
from thinktwice.rollouts.deploy_replay import read_log, to_dataset
from thinktwice.scripts import cli

pytestmark = pytest.mark.sim


def kill_bridge(parent: int) -> None:
    found = subprocess.run(["pgrep", "-P", str(parent), "-f", "rosbridge_server_rs"], capture_output=True, check=True)
    os.kill(int(found.stdout), signal.SIGKILL)


def test_sim_arm_and_deploy_in_two_commands(tmp_path: Path, capsys) -> None:
    pytest.importorskip("rclpy", reason="needs the extra: pip install -c constraints.txt -e '.[ros]'")
    port = free_port()
    start = "import sys; from thinktwice.scripts.cli import run; sys.exit(run(sys.argv[1:]))"
    options = ["sim-arm", "--port", str(port), "--domain", str(81 + os.getpid() % 15), "--camera-hz", "10"]
    with subprocess.Popen([sys.executable, "-c", start, *options], stdout=subprocess.PIPE, text=True) as arm:
        try:
            assert arm.stdout is not None
            assert "A simulated Panda moves behind" in arm.stdout.readline()
            log, robot = tmp_path / "log.mcap", tmp_path / "panda.yaml"
            text = (Path(__file__).parents[2] / "envs/ros/robots/panda_sim.yaml").read_text()
            text = text.replace("max_age_ms: 150", "max_age_ms: 1000").replace("max_age_ms: 500", "max_age_ms: 3000")
            robot.write_text(text)
            (tmp_path / "panda.xml").write_bytes((Path(__file__).parents[2] / "envs/ros/robots/panda.xml").read_bytes())
            deployment = ["--robot", str(robot), "--bridge", f"ws://127.0.0.1:{port}", "--policy", "wave"]
            status = cli.run(["deploy", *deployment, "--arm", "--max-seconds", "12", "--log", str(log)])
            assert status == 1, "it waved, and waving is never done"
            capsys.readouterr()
            assert cli.run(["sim-fault", "joints-silent", "--for", "0.2", "--port", str(port)]) == 0
            assert capsys.readouterr().out == "joints-silent: no joint states come\nnone: everything works again\n"
            kill_bridge(arm.pid)
            assert "is started again" in [arm.stdout.readline() for _ in range(2)][-1]
        finally:
            arm.send_signal(signal.SIGTERM)
            arm.wait(20)
    loaded = read_log(log)
    assert loaded.whole
    sent = np.array([entry.message.position for entry in loaded.of("sent")])
    assert len(sent) > 8
    measured = np.array([entry.message.position[:7] for entry in loaded.of("joint_states")])
    assert np.ptp(measured, axis=0).max() > 0.01, "the arm moved"
    assert any(event["kind"] == "e-stop" and "answers" in event["state"] for _, event in loaded.events())
    assert cli.run(["replay", str(log)]) == 0
    assert "decision" in capsys.readouterr().out
    assert to_dataset(loaded, tmp_path / "dataset") >= 1
    assert (tmp_path / "dataset" / "meta" / "info.json").is_file()
