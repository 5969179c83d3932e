"""Serving agents, and asking such servers, over openpi's protocol: a websocket with msgpack messages.

| module | content |
| --- | --- |
| `arrays` | messages with numpy arrays as bytes |
| `keys` | how an observation is named on the wire |
| `protocol` | what both sides say beside the observation and the actions |
| `session` | one client's agent: bytes to bytes, without sockets |
| `host` | builds the agents of all sessions from one copy of the policy's weights |
| `server` | the sockets of the server |
| `line` | the socket of a client |
"""

from __future__ import annotations

from .host import Host
from .keys import KEYS, Keys
from .line import Line
from .protocol import About
from .server import Listening, SessionEnd, serve
from .session import Session

__all__ = ["KEYS", "About", "Host", "Keys", "Line", "Listening", "Session", "SessionEnd", "serve"]
