"""A scripted server that speaks enough of OpenAI's protocol to fail in every way that servers do."""

import importlib.util
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

# Without the extra `alfworld`, which brings the client, only the answers can be tested.
collect_ignore_glob = [] if importlib.util.find_spec("openai") else ["test_client.py", "test_episodes.py"]

type Act = str | int | float | bytes
"""Text to answer, a status to answer with, seconds to stay silent, or a raw body."""


class ScriptedServer:
    """Answers requests from a script, the last act again and again."""

    def __init__(self) -> None:
        self.script: list[Act] = []
        self.requests: list[dict[str, Any]] = []
        self.busy = self.most_busy = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.handle(self)

            def log_message(self, *_: Any) -> None:
                """Keep quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        with self._lock:
            body = handler.rfile.read(int(handler.headers["content-length"]))
            self.requests.append(json.loads(body))
            act = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            self.busy += 1
            self.most_busy = max(self.most_busy, self.busy)
        try:
            if isinstance(act, float):
                time.sleep(act)
                act = "late"
            elif len(self.script) == 1:
                time.sleep(0.05)
            self._answer(handler, act)
        except (BrokenPipeError, ConnectionResetError):
            pass  # The client stopped waiting: that is what a silent act is for.
        finally:
            with self._lock:
                self.busy -= 1

    def _answer(self, handler: BaseHTTPRequestHandler, act: str | int | bytes) -> None:
        status = act if isinstance(act, int) else 200
        if isinstance(act, bytes):
            body = act
        elif isinstance(act, int):
            body = json.dumps({"error": {"message": f"scripted {act}"}}).encode()
        else:
            message = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": act}}
            usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
            body = json.dumps({"id": "x", "object": "chat.completion", "choices": [message], "usage": usage}).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        if status == 429:
            handler.send_header("retry-after-ms", "10")
        handler.end_headers()
        handler.wfile.write(body)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A fresh scripted server."""
    scripted = ScriptedServer()
    yield scripted
    scripted.close()
