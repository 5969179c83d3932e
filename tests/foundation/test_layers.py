"""The layout keeps its promises: one-way layers, every package listed, light imports, nothing of this machine."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = ["envs", "perception", "critics", "agents", "rollouts", "scripts"]
FOUNDATION = {"addresses", "cost", "errors"}


def library_files() -> list[Path]:
    return [path for folder in ["thinktwice", *LAYERS] for path in sorted((ROOT / folder).rglob("*.py"))]


def imported_top_names(path: Path) -> set[str]:
    """The first name under `thinktwice` of every import of the library in a file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = ("thinktwice", *parts[:-1]) if parts[0] != "thinktwice" else parts[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            full = (*base, *(node.module or "").split(".")) if node.module else base
            names = [full[1]] if len(full) > 1 else [alias.name for alias in node.names]
            found.update(names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            absolute = [module for module in modules if module.split(".")[0] in {"thinktwice", *LAYERS}]
            assert not absolute, (
                f"{path}: import {absolute} relatively, since top-level folders install inside one package"
            )
    return found


@pytest.mark.parametrize("path", library_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_layer_imports_only_those_below_it(path: Path) -> None:
    folder = path.relative_to(ROOT).parts[0]
    if folder == "thinktwice":
        return
    above = set(LAYERS[LAYERS.index(folder) + 1 :])
    wrong = imported_top_names(path) & above
    assert not wrong, f"{path.relative_to(ROOT)} is in {folder} and imports {wrong}, which stand above it"


def test_the_foundation_imports_no_layer() -> None:
    for name in FOUNDATION:
        assert not imported_top_names(ROOT / "thinktwice" / f"{name}.py") & set(LAYERS)


def test_every_package_is_listed_for_installation() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    folders = {path.parent for folder in LAYERS for path in (ROOT / folder).rglob("__init__.py")}
    present = {"thinktwice", *(".".join(("thinktwice", *folder.relative_to(ROOT).parts)) for folder in folders)}
    assert listed == present


def test_pyright_sees_every_top_level_package() -> None:
    links = {
        path.name for path in (ROOT / "layout" / "thinktwice").iterdir() if not path.name.startswith("__pycache__")
    }
    wanted = {*LAYERS, *(path.name for path in (ROOT / "thinktwice").iterdir() if path.name != "__pycache__")}
    assert links == wanted
    assert all((ROOT / "layout" / "thinktwice" / name).exists() for name in links)


def test_the_type_checker_is_pointed_at_every_package() -> None:
    include = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]["include"]
    assert set(include) == {"layout/thinktwice", *(f"layout/thinktwice/{name}" for name in LAYERS)}


def test_importing_the_library_is_light() -> None:
    heavy = ["torch", "lerobot", "robosuite", "mujoco", "libero", "textworld", "alfworld", "openai", "ray"]
    code = f"import sys, thinktwice, thinktwice.scripts.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.strip() == "[]"


def test_tracked_files_name_no_machine_path_and_no_registry() -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wanted = re.compile(r"/ro[o]t/|/wor[k]/|py[p]i\.org|python[h]osted|registry\.np[m]js|deb\.debia[n]")
    for name in filter(None, tracked.split("\0")):
        path = ROOT / name
        if path.is_symlink() or not path.is_file():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        hit = wanted.search(text)
        assert hit is None, f"{name} names {hit[0] if hit else ''}"


def test_the_constraints_hold_names_and_versions_only() -> None:
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.+!]+", line), line


def test_make_test_runs_every_folder_of_tests() -> None:
    script = (ROOT / "scripts" / "test.sh").read_text()
    folders = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    missing = [
        folder
        for folder in folders
        if not any(re.search(rf"[\" ]{re.escape(part)}[\" ]", script) for part in _and_parents(folder))
    ]
    assert missing == []


def _and_parents(folder: str) -> list[str]:
    parts = folder.split("/")
    return ["/".join(parts[:length]) for length in range(2, len(parts) + 1)]
