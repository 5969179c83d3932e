"""The emergency stop, over a connection of its own.

Nothing else ever waits on this connection: on a shared one an action goal was seen to hold everything up for seconds.
It is software behind a network.  A hardware button is what stops an arm when this cannot.
"""

from __future__ import annotations

import time

from ...errors import WorldError
from .client import BridgeClient
from .messages import type_name
from .robot import EStop, Question
from .wire import Message, Outage

_RETRY_SECONDS = 0.4
_ROSAPI_SECONDS = 0.1
_ROSAPI = {
    "service": ("/rosapi/service_type", "ServiceType", "service", "type"),
    "topic": ("/rosapi/subscribers", "Subscribers", "topic", "subscribers"),
}
"""rosapi's service, its type, what it is asked with, and what it answers with.

https://github.com/RobotWebTools/rosbridge_suite/tree/ros2/rosapi_msgs/srv
"""


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
        self._description, self._name, self._ros = description, name, ros
        self._state = "not asked yet"
        kind = "srv" if description.interface == "service" else "msg"
        self._type = type_name(description.type, ros, kind)
        self._client = BridgeClient(url, ca_file=ca_file, ping_seconds=2.0)

    @property
    def connected(self) -> bool:
        """Whether its connection is open."""
        return self._client.connected

    @property
    def outage(self) -> Outage | None:
        """What is known of its connection while that is away."""
        return self._client.outage

    @property
    def state(self) -> str:
        """What the last `probe` or `press` found out, in words."""
        return self._state

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

    def probe(self, *, timeout: float = 3.0) -> None:
        """Find out, without pressing it, whether somebody is there to stop the arm; `state` says what was found.

        Raises:
            WorldError: nobody is, or it cannot be found out in the way that the description says.
        """
        try:
            self._state = self._found(time.monotonic() + timeout)
        except WorldError as error:
            self._state = f"NOBODY ANSWERS: {error}"
            raise WorldError(
                f"the e-stop of {self._name} does not answer ({error}) Start what stops the arm, or correct estop in "
                "the robot file (estop.probe says how it is asked)."
            ) from error

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
                self._state = "pressed; a topic cannot confirm it"
                return False
            answer = self._ask(stop.name, self._type, stop.request, time.monotonic() + timeout)
        except WorldError as error:
            self._state = "pressed, NOT CONFIRMED"
            raise WorldError(
                f"the e-stop of {self._name} is NOT confirmed ({error}) Use the hardware button."
            ) from error
        if answer.get("success") is False:
            self._state = "pressed, REFUSED"
            raise WorldError(f"the e-stop of {self._name} was refused: {answer}. Use the hardware button.")
        self._state = "pressed, and confirmed by the robot"
        return True

    def _found(self, deadline: float) -> str:
        stop, probe = self._description, self._description.probe
        if probe == "none":
            if not self.connected:
                raise WorldError("its connection is away.")
            return "connected; nobody was asked (estop.probe: none), press it once to see that it works"
        if isinstance(probe, Question):
            self._ask(probe.name, type_name(probe.type, self._ros, "srv"), probe.request, deadline)
            return f"{probe.name} answers"
        service, kind, question, answer = _ROSAPI[stop.interface]
        package = "rosapi" if self._ros == 1 else "rosapi_msgs/srv"
        # A bridge that has just started may not know everybody yet.
        while not self._ask(service, f"{package}/{kind}", {question: stop.name}, deadline).get(answer):
            if time.monotonic() + 2 * _ROSAPI_SECONDS >= deadline:  # too late for one more answer
                raise WorldError(f"rosapi knows nobody behind {stop.name}.")
            time.sleep(_ROSAPI_SECONDS)
        return f"{stop.name} exists"

    def _ask(self, name: str, kind: str, request: Message, deadline: float) -> Message:
        while True:
            wait = min(_RETRY_SECONDS, max(deadline - time.monotonic(), 0.01))
            try:
                return self._client.call_service(name, kind, request, timeout=wait)
            except WorldError:
                if not self._client.connected or time.monotonic() >= deadline:
                    raise
