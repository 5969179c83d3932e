"""The compiled engine says what alfworld's own stack says, and old game files play."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from thinktwice.envs.alfworld.compiled import CompiledEngine, entity_names
from thinktwice.envs.alfworld.engine import Engine
from thinktwice.envs.alfworld.facts import FactBase, Literal
from thinktwice.envs.alfworld.games import TASK_TYPES, FolderGames, Game, installed_rules, split_goal
from thinktwice.envs.alfworld.generator import GeneratedGames, write_games
from thinktwice.envs.alfworld.grammar import read_grammar
from thinktwice.envs.alfworld.pddl import read_problem, read_schemas
from thinktwice.errors import UsageError


@pytest.fixture(scope="module")
def stock() -> Engine:
    from thinktwice.envs.alfworld.stock import StockEngine

    return StockEngine()


def all_games(games: FolderGames | GeneratedGames) -> Iterator[Game]:
    for task_type in TASK_TYPES:
        for number in games.numbers(task_type):
            yield games.load(task_type, number)


def play_both(game: Game, stock: Engine, *, plan: tuple[str, ...], random_steps: int) -> None:
    """A planner episode, then a random one that sometimes says what is not admissible, on both engines."""
    compiled = CompiledEngine()
    assert compiled.start(game) == stock.start(game)
    for command in plan:
        ours, theirs = compiled.step(command), stock.step(command)
        assert ours == theirs, (game.source, command)
    if plan:
        assert compiled.step("look").won
    rng = random.Random(game.sha256)
    ours = compiled.start(game)
    assert ours == stock.start(game)
    for _ in range(random_steps):
        # Acting beats walking about: a random walk over all commands hardly ever picks anything up.
        acting = [command for command in ours.commands if not command.startswith(("go ", "help"))]
        command = rng.choice([*acting, *rng.sample(ours.commands, 2), "go to the shed 1"])
        ours, theirs = compiled.step(command), stock.step(command)
        assert ours == theirs, (game.source, command)
        for predicate in ("inreceptacle", "opened", "holds", "ishot", "atlocation"):
            assert compiled.facts(predicate) == stock.facts(predicate)


@pytest.mark.sim
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_both_engines_agree_on_generated_games(task_type: str, generated: GeneratedGames, stock: Engine) -> None:
    from thinktwice.envs.alfworld.planner import Planner

    planner = Planner()
    for number in generated.numbers(task_type)[:1]:
        game = generated.load(task_type, number)
        engine = CompiledEngine()
        engine.start(game)
        plan = tuple(step.command for step in planner.plan(game, engine))
        play_both(game, stock, plan=plan, random_steps=20)


@pytest.mark.sim
def test_both_engines_agree_on_real_games(real_games: FolderGames, stock: Engine) -> None:
    games = list(all_games(real_games))
    assert len(games) == 140
    # Every 35th here; `benchmarks/alfworld_step.py --check` plays all 140, whole episodes.
    for game in games[::35]:
        play_both(game, stock, plan=(), random_steps=15)


def test_names_are_alfworlds_own(generated: GeneratedGames) -> None:
    from alfworld.agents.utils.misc import Demangler
    from textworld.generator.game import EntityInfo

    identifiers = ["agent1", "sink_bar__plus_01_bar_sinkbasin", "mug_bar__plus_02", "mug_bar__minus_01", "mugtype"]
    theirs = Demangler(game_infos={name: EntityInfo(name, "object") for name in identifiers})
    assert entity_names(identifiers) == {name: theirs.demangle_alfred_name(name) for name in identifiers}


def test_an_old_file_is_played_with_the_installed_grammar(tmp_path: Path) -> None:
    games = GeneratedGames(per_type=1)
    for path in write_games(games, tmp_path, split="valid_unseen"):
        data = json.loads(path.read_text())
        data["grammar"] = data["grammar"].replace("move {o} to {r}", "put {o} in/on {r}")
        path.write_text(json.dumps(data))
    old = FolderGames(folder=tmp_path / "json_2.1.1", split="valid_unseen")
    (number,) = old.numbers("pick_and_place_simple")
    game = old.load("pick_and_place_simple", number)
    assert game.rebuilt
    (original,) = games.numbers("pick_and_place_simple")
    assert game.goal == games.load("pick_and_place_simple", original).goal
    assert number != original
    assert old.describe()["grammar_rebuilt"] == 6


def test_a_query_finds_what_holds_and_remembers_what_was_made_false() -> None:
    facts = FactBase([("in", "mug", "desk"), ("in", "pen", "desk"), ("in", "cup", "shelf"), ("open", "desk")])
    inside = (Literal("in", ("?o", "?r")), Literal("open", ("?r",)))
    assert [found["?o"] for found in facts.ordered_solutions(inside, {})] == ["mug", "pen"]
    assert {found["?o"] for found in facts.solutions((inside[0], Literal("open", ("?r",), positive=False)), {})} == {
        "cup"
    }
    facts.make_false(("in", "mug", "desk"))
    assert ("not_in", "mug", "desk") in facts
    facts.make_true(("in", "mug", "desk"))
    assert ("not_in", "mug", "desk") not in facts
    different = (Literal("in", ("?a", "?r")), Literal("in", ("?b", "?r")))
    assert len(list(facts.ordered_solutions(different, {}))) == 2
    assert len(list(facts.solutions((*different, Literal("=", ("?a", "?b"), positive=False)), {}))) == 2
    assert len(list(facts.solutions(different, {}))) == 5


def test_a_grammar_runs_no_code() -> None:
    text = 'grammar :: """{"intro": [{"rhs": "{__import__(\'os\').getcwd()}"}]}""";'
    grammar = read_grammar(text)
    with pytest.raises(UsageError, match="does not understand"):
        grammar.derive(grammar.rules["intro"][0].nodes, FactBase(()), {}, {})


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ("(define (domain d)", "parentheses"),
        ("(domain d)", "define"),
        ("(define (domain d) (:action a :parameters () :precondition (forall (?x) (p ?x)) :effect (q)))", "forall"),
        ("(define (domain d) (:action a :parameters () :precondition (not (and (p))) :effect (q)))", "negated"),
    ],
)
def test_pddl_that_is_not_understood_is_refused(domain: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_schemas(domain)


def test_a_problem_without_goal_is_refused() -> None:
    with pytest.raises(UsageError, match="no goal"):
        read_problem("(define (problem p) (:init (p a)))")


def test_a_grammar_without_a_task_is_refused() -> None:
    with pytest.raises(UsageError, match="Your task is to"):
        split_goal(installed_rules()[1].replace("Your task is to", "Enjoy"))
