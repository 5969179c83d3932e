"""Against openpi's own programs from PyPI: its client at our server, its server with our client."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpi_client import action_chunk_broker, image_tools
from openpi_client.websocket_client_policy import WebsocketClientPolicy
from websockets.exceptions import InvalidStatus

from thinktwice.agents.catalog import build_policy
from thinktwice.agents.serving import KEYS, Host
from thinktwice.envs import check_compatible
from thinktwice.envs.fakes import FakeEnv
from thinktwice.envs.libero.env import LiberoEnv
from thinktwice.envs.libero.world import LiberoOptions, open_libero
from thinktwice.errors import ContractError, ConventionError, ModelError, UsageError

# openpi-client 0.1.2 opens its connection as websockets did before 17.1.
pytestmark = pytest.mark.filterwarnings(r"ignore:connect\(\) must be used as a context manager:DeprecationWarning")

type MakeHost = Callable[..., Host]
type Serving = Callable[..., contextlib.AbstractContextManager[Any]]


@contextlib.contextmanager
def openpis_client(port: int, api_key: str | None = None) -> Iterator[WebsocketClientPolicy]:
    policy = WebsocketClientPolicy("127.0.0.1", port, api_key)
    try:
        yield policy
    finally:
        policy._ws.close()


def look(init_state: int = 0) -> dict[str, Any]:
    return FakeEnv().reset(seed=0, options={"task": "fake/1", "init_state": init_state})[0]


# Its client at our server.


def test_openpis_client_gets_metadata_and_actions(hosted: MakeHost, serving: Serving) -> None:
    with serving(hosted("fake", every=1)) as server, openpis_client(server.port) as client:
        assert client.get_server_metadata()["thinktwice"]["world"] == "fake"
        answer = client.infer(look())
        assert answer["actions"].shape == (4, 2)
        assert answer["thinktwice"]["deliberated"] is True


def test_openpis_client_needs_the_token(hosted: MakeHost, serving: Serving) -> None:
    with serving(hosted(), token="a-secret-of-some-length") as server:
        with pytest.raises(InvalidStatus, match="401"), openpis_client(server.port, "wrong"):
            pass
        with openpis_client(server.port, "a-secret-of-some-length") as client:
            assert client.infer(look())["actions"].shape == (4, 2)


def test_openpis_client_shows_our_traceback(hosted: MakeHost, serving: Serving) -> None:
    shown = pytest.raises(RuntimeError, match=r"Error in inference server:(.|\n)*images\.front")
    with serving(hosted()) as server, openpis_client(server.port) as client, shown:
        client.infer({"state": np.zeros(4)})


def test_openpis_broker_hands_out_our_chunks_one_by_one(hosted: MakeHost, serving: Serving) -> None:
    with serving(hosted("fake", every=1)) as server, openpis_client(server.port) as client:
        chunk = client.infer(look() | {"thinktwice": {"reset": 3}})["actions"]
        broker = action_chunk_broker.ActionChunkBroker(client, action_horizon=4)
        single = [broker.infer(look() | {"thinktwice": {"reset": 3}})["actions"] for _ in range(4)]
    np.testing.assert_array_equal(single, chunk)


@pytest.mark.slow
def test_openpis_libero_keys(serving: Serving) -> None:
    """What its LIBERO example sends; the random policy does not look, but the server does."""
    from thinktwice.agents.reflex import ReflexOptions

    world = open_libero("libero_object", LiberoOptions(height=96, width=96))
    host = Host(world, "reflex", ReflexOptions(policy="random"), keys=KEYS["openpi-libero"])
    image = np.zeros((256, 256, 3), np.uint8)
    element = {
        "observation/image": image_tools.resize_with_pad(image, 224, 224),
        "observation/wrist_image": image_tools.resize_with_pad(image, 224, 224),
        "observation/state": np.zeros(8),
        "prompt": "pick up the alphabet soup and place it in the basket",
    }
    with serving(host) as server:
        with openpis_client(server.port) as client:
            assert client.infer(element)["actions"].shape == (1, 7)
        with openpis_client(server.port) as client, pytest.raises(RuntimeError, match="no 'observation/image'"):
            client.infer({"prompt": "no images", "observation/state": np.zeros(8)})
        # Our own client takes the keys from the metadata, and any size of image.
        env = LiberoEnv(height=128, width=128)
        with contextlib.closing(build_policy(f"openpi:{server.url}", env)) as policy:
            check_compatible(env.conventions, policy.conventions, world_name="libero", policy_name=policy.name)
            observation = {f"images.{name}": np.zeros((128, 128, 3), np.uint8) for name in ("agentview", "wrist")}
            observation |= {"state": np.zeros(8, np.float32), "task": "pick up the alphabet soup"}
            assert policy.propose(observation, 2, seed=1).chunks.shape == (2, 1, 7)


# Its server with our client.


class Remote:
    """What openpi's server serves: it looks at the observation, and keeps what it was asked."""

    def __init__(self, actions: Any = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self.actions = actions

    def infer(self, observation: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(observation)
        if isinstance(self.actions, Exception):
            raise self.actions
        actions = self.actions if self.actions is not None else np.full((5, 7), observation["observation/state"][0])
        return {"actions": actions, "policy_timing": {"infer_ms": 1.0}}


def scene(value: float = 0.25) -> dict[str, Any]:
    image = np.arange(64 * 64 * 3, dtype=np.uint32).reshape(64, 64, 3).astype(np.uint8)
    state = np.full(8, value, np.float32)
    return {"images.agentview": image, "images.wrist": image, "state": state, "task": "turn on the stove"}


@contextlib.contextmanager
def asking(url: str, query: str = "?keys=openpi-libero") -> Iterator[Any]:
    with contextlib.closing(build_policy(f"openpi:{url}{query}", LiberoEnv(height=64, width=64))) as policy:
        yield policy


@pytest.mark.slow
def test_our_client_asks_openpis_server(openpi_serving: Serving) -> None:
    remote = Remote()
    with openpi_serving(remote, {"robot": "panda"}) as url, asking(url) as policy:
        assert len(remote.asked) == 1, "it is warmed up before the first action"
        proposal = policy.propose(scene(), 1, seed=0)
        again = policy.propose(scene(0.5), 1, seed=0)
        described = policy.describe()
    assert proposal.chunks.dtype == np.float32
    np.testing.assert_array_equal(proposal.chunks, np.full((1, 5, 7), 0.25))
    np.testing.assert_array_equal(again.chunks, np.full((1, 5, 7), 0.5))
    assert (described["served"], described["repeats"]) == ({"robot": "panda"}, False)
    sent = remote.asked[1]
    assert set(sent) == {"observation/image", "observation/wrist_image", "observation/state", "prompt"}
    assert sent["observation/image"].shape == (224, 224, 3)
    assert sent["prompt"] == "turn on the stove"


@pytest.mark.slow
def test_our_client_refuses_what_openpis_server_cannot_do(openpi_serving: Serving) -> None:
    with openpi_serving(Remote()) as url:
        with pytest.raises(UsageError, match=r"\?keys=openpi-libero"):
            build_policy(f"openpi:{url}", LiberoEnv())
        with asking(url) as policy, pytest.raises(ContractError, match="one chunk"):
            policy.propose(scene(), 2, seed=0)
        with asking(url) as policy, pytest.raises(ConventionError, match="camera 'agentview' is missing"):
            check_compatible(FakeEnv().conventions, policy.conventions, world_name="fake", policy_name=policy.name)


@pytest.mark.slow
def test_an_error_in_openpis_server_names_it(openpi_serving: Serving) -> None:
    remote = Remote()
    with openpi_serving(remote) as url, asking(url) as policy:
        remote.actions = ValueError("the model is on fire")
        with pytest.raises(ModelError, match=rf"{url} failed:(.|\n)*the model is on fire"):
            policy.propose(scene(), 1, seed=0)
        remote.actions = None
        assert policy.propose(scene(), 1, seed=0).chunks.shape == (1, 5, 7)
    assert len(remote.asked) == 4, "the new session was warmed up again"


@pytest.mark.parametrize("actions", [np.full((5, 7), np.nan), np.zeros((5, 8)), np.zeros(7), np.full((2, 7), 1e300)])
def test_actions_of_openpis_server_are_checked(openpi_serving: Serving, actions: Any) -> None:
    remote = Remote()
    with openpi_serving(remote) as url, asking(url) as policy:
        remote.actions = actions
        with pytest.raises(ContractError, match="not executed"):
            policy.propose(scene(), 1, seed=0)


def test_a_token_is_openpis_api_key(hosted: MakeHost, serving: Serving, tmp_path: Path) -> None:
    """The header of both clients is the same one, so either can use either server's token."""
    from thinktwice.agents.serving.access import authorization

    assert authorization("secret") == "Api-Key secret"
