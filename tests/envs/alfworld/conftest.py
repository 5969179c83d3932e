"""Games for the tests: generated ones, and the real ones where they lie beside the repository."""

import importlib.util
import tarfile
from pathlib import Path

import pytest

from thinktwice.envs.alfworld.games import FolderGames
from thinktwice.envs.alfworld.generator import GeneratedGames

# Without the extra `alfworld` there is nothing to test here.
collect_ignore_glob = [] if importlib.util.find_spec("alfworld") else ["test_*.py"]

REAL_GAMES = Path(__file__).parents[4] / "shared" / "data" / "alfworld_valid_seen.tgz"


@pytest.fixture(scope="session")
def generated() -> GeneratedGames:
    """Four games of each type."""
    return GeneratedGames(per_type=4)


@pytest.fixture(scope="session")
def real_games(tmp_path_factory: pytest.TempPathFactory) -> FolderGames:
    """The 140 games of ALFWorld's valid_seen split."""
    if not REAL_GAMES.is_file():
        pytest.skip("the real games do not lie beside this checkout")
    folder = tmp_path_factory.mktemp("alfworld")
    with tarfile.open(REAL_GAMES) as archive:
        archive.extractall(folder, filter="data")
    return FolderGames(folder=folder / "alfworld", split="valid_seen")
