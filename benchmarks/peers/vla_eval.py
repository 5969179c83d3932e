"""The ``vla-eval`` package's own LIBERO runner, without containers: one process per shard and its LeRobot server.

It is installed by uv (`make setup`) into a virtual environment of its own, from which this one's packages (LIBERO,
torch, LeRobot) can be imported too.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .task import SUITE, TASK, Task, ending, environment, played

VERSION = "0.8.0"
_READY_SECONDS = 600


def play(task: Task) -> dict[str, Any]:
    """All episodes, in as many shards as there are processes, over one server that holds the policy."""
    python = _installed()
    out = task.folder / "vla-eval"
    out.mkdir(exist_ok=True)
    env = environment(LIBERO_CONFIG_PATH=str(out / "libero"))
    began = time.perf_counter()
    with _served(task, python, env) as url:
        config = _config(task, out, url)
        logs = [task.folder / f"vla-eval-{shard}.log" for shard in range(task.processes)]
        shards: list[subprocess.Popen[bytes]] = []
        for shard, log in enumerate(logs):
            command = [python, "-m", "vla_eval.cli.main", "run", "--no-docker", "-c", config, "--yes"]
            command += ["--eval-id", "bench", "--shard-id", str(shard), "--num-shards", str(task.processes)]
            with log.open("wb") as file:
                shards.append(subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=env))
        failed = [log for shard, log in zip(shards, logs, strict=True) if shard.wait()]
    seconds = time.perf_counter() - began
    if failed:
        raise RuntimeError(f"vla-eval failed:\n{ending(failed[0])}")
    episodes = _episodes(out, python, env)
    errors, steps = sum("failure_reason" in each for each in episodes), sum(each["steps"] for each in episodes)
    if (len(episodes), errors, steps) != (task.episodes, 0, task.episodes * task.steps):
        raise RuntimeError(f"vla-eval played {len(episodes)} episodes, {errors} with errors, {steps} steps in all.")
    return played(task, seconds, succeeded=sum(bool(each["metrics"]["success"]) for each in episodes))


def _installed() -> str:
    """The interpreter of vla-eval's virtual environment, which is made the first time."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "thinktwice" / f"vla-eval-{VERSION}"
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        sys.stderr.write(f"installing vla-eval {VERSION} into {folder}\n")
        uv = str(Path(sys.executable).with_name("uv"))
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", str(python), "-c", "constraints.txt"]
        subprocess.run([*install, f"vla-eval=={VERSION}"], check=True)
        (own,) = folder.glob("lib/python3*/site-packages")
        (own / "thinktwice-benchmark.pth").write_text(sysconfig.get_path("purelib") + "\n")
        done.touch()
    return str(python)


@contextlib.contextmanager
def _served(task: Task, python: str, env: dict[str, str]) -> Iterator[str]:
    """vla-eval's own server of LeRobot checkpoints."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, "-m", "vla_eval.model_servers.lerobot", "--address", f"127.0.0.1:{port}"]
    command += ["--args.policy_type=act", f"--args.checkpoint={task.policy.resolve()}", "--args.device=cpu"]
    command += ['--args.image_keys={"agentview": "image", "wrist": "image2"}']
    log = task.folder / "vla-eval-server.log"
    with log.open("wb") as file:
        server = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=env)
    try:
        _await(port, server, log)
        yield f"ws://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def _await(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _READY_SECONDS
    while time.monotonic() < until and server.poll() is None:
        with contextlib.suppress(OSError):
            asked = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            asked.request("GET", "/health")
            if asked.getresponse().status == http.HTTPStatus.OK:
                return
        time.sleep(0.2)
    raise RuntimeError(f"vla-eval's server did not start:\n{ending(log)}")


def _config(task: Task, out: Path, url: str) -> str:
    """Its configuration; it draws 256 pixels whatever is asked, and its server makes them smaller."""
    import yaml

    content = {
        "server": {"url": url, "timeout": 120},
        "output_dir": str(out),
        "benchmarks": [
            {
                "benchmark": "vla_eval.benchmarks.libero.benchmark:LIBEROBenchmark",
                "subname": SUITE,
                "max_tasks": TASK + 1,
                "episodes_per_task": task.episodes,
                "max_steps": task.steps,
                "params": {"suite": SUITE, "send_wrist_image": True, "send_state": True, "max_steps": task.steps},
            }
        ],
    }
    path = out / "config.yaml"
    path.write_text(yaml.safe_dump(content))
    return str(path)


def _episodes(out: Path, python: str, env: dict[str, str]) -> list[dict[str, Any]]:
    """What it says of every episode, by its own export."""
    (database,) = out.glob("recording-*.sqlite")
    export = [python, "-m", "vla_eval.cli.main", "export", str(database)]
    subprocess.run(export, check=True, capture_output=True, env=env)
    (aggregate,) = out.glob("*_aggregate.json")
    return [episode for task in json.loads(aggregate.read_text())["tasks"] for episode in task["episodes"]]
