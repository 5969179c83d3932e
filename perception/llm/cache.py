"""A cache of completions on disk, keyed by content: a run with the same requests is replayed without any endpoint."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

from ...errors import RecordError
from .contract import ChatModel, Completion, Request, RequestFailed

type CacheMode = Literal["use", "replay"]
"""use: ask the endpoint for what is missing; replay: what is missing is an error."""


class CachedChat:
    """A `ChatModel` that remembers.

    Only completions are kept, never failures.  Each is one JSON file, written so that a killed process leaves no
    half of one, and two processes may share the folder.

    Args:
        model: asked for what is not in the folder.
        folder: made when it is missing.
        mode: see `CacheMode`.
    """

    def __init__(self, model: ChatModel, folder: Path, *, mode: CacheMode = "use") -> None:
        self._model, self._folder, self._mode = model, folder, mode

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    def complete(self, request: Request) -> Completion:
        """The remembered answer, or the model's.

        Raises:
            RequestFailed: the model failed, or the answer is not remembered and the mode is ``"replay"``.
            RecordError: a file of the cache is damaged.
        """
        began = time.perf_counter()
        path = self._folder / f"{request.key(self._model.name)}.json"
        if path.is_file():
            return dataclasses.replace(_read(path), cached=True, seconds=time.perf_counter() - began)
        if self._mode == "replay":
            raise RequestFailed(f"{path.name} is not in the cache {self._folder}, and replaying asks no endpoint.")
        completion = self._model.complete(request)
        _write(path, completion)
        return completion

    def describe(self) -> dict[str, Any]:
        """The model's, and that its answers are cached."""
        return {**self._model.describe(), "cache": self._mode}


def _read(path: Path) -> Completion:
    try:
        return Completion(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise RecordError(f"the cached completion {path} is damaged ({error}); delete it to ask again.") from error


def _write(path: Path, completion: Completion) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(dataclasses.asdict(completion), file)
    Path(name).replace(path)
