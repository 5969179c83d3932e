"""Errors travel between processes, messages suggest, and the ledger adds up."""

import pickle

import pytest

from thinktwice import errors
from thinktwice.cost import Cost, Stopwatch
from thinktwice.errors import MissingDependency, ThinkTwiceError, choices, require


def test_the_tree_in_the_docstring_is_the_tree_in_the_code() -> None:
    classes = [item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, Exception)]
    assert len(classes) > 8
    for item in classes:
        assert issubclass(item, ThinkTwiceError)
        assert item.__name__ in (errors.__doc__ or ""), f"{item.__name__} is missing from the tree in the docstring"


def test_errors_survive_the_way_back_from_a_worker() -> None:
    error = MissingDependency("alfworld", purpose="The ALFWorld world", install="pip install alfworld")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is MissingDependency
    assert (
        str(copy) == str(error) == "The ALFWorld world needs alfworld, which is not installed. "
        "Install it with: pip install alfworld"
    )
    assert copy.install == "pip install alfworld"


def test_choices_suggests_the_nearest_and_shortens_a_long_list() -> None:
    assert choices("expart", ["expert", "random"]).startswith("Did you mean 'expert'?")
    assert "Did you mean" not in choices("zzz", ["expert"])
    assert "(100 in all)" in choices("a", [f"task {n}" for n in range(100)])


def test_require_speaks_only_when_broken() -> None:
    require(True, "fine")
    with pytest.raises(errors.ContractError, match=r"^broken\.$"):
        require(False, "broken")


def test_costs_add_by_count_and_by_stage() -> None:
    a = Cost(prefix_passes=1, candidates=2, seconds={"prefix": 1.0})
    b = Cost(candidates=14, comparisons=240, seconds={"prefix": 0.5, "critic": 0.25})
    total = Cost.total([a, b])
    assert total.counts() == {**Cost().counts(), "prefix_passes": 1, "candidates": 16, "comparisons": 240}
    assert total.seconds == {"prefix": 1.5, "critic": 0.25}
    assert Cost.total([]) == Cost()
    assert Cost.from_json(total.to_json()) == total


def test_every_count_of_the_ledger_is_in_counts() -> None:
    import dataclasses

    assert set(Cost.COUNTS) == {field.name for field in dataclasses.fields(Cost)} - {"seconds"}


def test_a_stopwatch_keeps_the_time_of_a_stage_that_fails() -> None:
    watch = Stopwatch()
    with pytest.raises(ValueError, match="x"), watch("act"):
        raise ValueError("x")
    with watch("act"):
        pass
    assert watch.seconds["act"] > 0
