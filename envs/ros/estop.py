"""The emergency stop, over a connection of its own.

Nothing else ever waits on this connection: on a shared one an action goal was seen to hold everything up for seconds.
It is software behind a network.  A hardware button is what stops an arm when this cannot.
"""

from __future__ import annotations

import time

from ...errors import WorldError
from .client import BridgeClient
from .messages import type_name
from .robot import EStop
from .wire import Message

_RETRY_SECONDS = 0.4


class EmergencyStop:
    """Sends what a robot's description says stops it.

    Args:
        description: service or topic.
        url: the rosbridge server.
        ca_file: see `BridgeClient`.
        ros: 1 or 2.
        name: the robot's name, for errors.
    """

    def __init__(self, description: EStop, url: str, *, ca_file: str | None = None, ros: int, name: str) -> None:
        self._description, self._name = description, name
        kind = "srv" if description.interface == "service" else "msg"
        self._type = type_name(description.type, ros, kind)
        self._client = BridgeClient(url, ca_file=ca_file, ping_seconds=2.0)

    @property
    def connected(self) -> bool:
        """Whether its connection is open."""
        return self._client.connected

    def connect(self, *, timeout: float) -> None:
        """Open the connection.

        Raises:
            WorldError: the server does not answer.
        """
        if self._description.interface == "topic":
            self._client.advertise(self._description.name, self._type)
        self._client.connect(timeout=timeout)

    def close(self) -> None:
        """Close the connection; safe to repeat."""
        self._client.close()

    def press(self, *, timeout: float = 2.0) -> bool:
        """Stop the arm.

        A service is called until it answers: a bridge makes its ROS client at the first call, and what is
        sent before the two sides have met is lost.

        Returns:
            Whether the robot confirmed it; a topic has no way to confirm.

        Raises:
            WorldError: it could not be sent, or the service refused or did not answer: use the hardware button.
        """
        stop = self._description
        try:
            if stop.interface == "topic":
                self._client.publish(stop.name, stop.request)
                return False
            answer = self._call(time.monotonic() + timeout)
        except WorldError as error:
            raise WorldError(
                f"the e-stop of {self._name} is NOT confirmed ({error}) Use the hardware button."
            ) from error
        if answer.get("success") is False:
            raise WorldError(f"the e-stop of {self._name} was refused: {answer}. Use the hardware button.")
        return True

    def _call(self, deadline: float) -> Message:
        stop = self._description
        while True:
            wait = min(_RETRY_SECONDS, max(deadline - time.monotonic(), 0.01))
            try:
                return self._client.call_service(stop.name, self._type, stop.request, timeout=wait)
            except WorldError:
                if not self._client.connected or time.monotonic() >= deadline:
                    raise
