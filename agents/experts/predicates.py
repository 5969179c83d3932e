"""LIBERO's goal predicates, evaluated on a `View` exactly as LIBERO evaluates them on the simulator."""

from __future__ import annotations

import numpy as np

from ...envs.libero.problem import Predicate
from ...errors import WorldError, choices
from .scene import View

# libero.libero.envs.objects.articulated_objects: the bounds of the ranges that its is_open and is_close compare with.
_SLIDE_OPEN, _SLIDE_CLOSED = -0.14, 0.0
_DOOR_OPEN, _DOOR_CLOSED = -1.3, -0.005
_KNOB_ON, _KNOB_OFF = 0.5, 0.0
_NEAR = 0.03
"""``on`` an object: the origins are within this horizontal distance, metres."""
_ABOVE = 0.10
"""``on`` a region: the origin is at most this far above its upper face, metres."""


def holds(view: View, predicate: Predicate) -> bool:
    """Whether a predicate of a BDDL goal is true.

    Raises:
        WorldError: the predicate is none of on, in, open, close, turnon and turnoff.
    """
    kind, *names = predicate
    if kind == "on":
        return _on(view, *names)
    if kind == "in":
        return _in(view, *names)
    if kind in _JOINT_TESTS:
        joint = view.joint_of(names[0])
        return joint is not None and _JOINT_TESTS[kind](joint.value, joint.hinge)
    raise WorldError(f"the experts do not know the predicate {kind!r}. {choices(kind, ['on', 'in', *_JOINT_TESTS])}")


_JOINT_TESTS = {
    "open": lambda value, hinge: value < (_DOOR_OPEN if hinge else _SLIDE_OPEN),
    "close": lambda value, hinge: value > (_DOOR_CLOSED if hinge else _SLIDE_CLOSED),
    "turnon": lambda value, _: value >= _KNOB_ON,
    "turnoff": lambda value, _: value < _KNOB_OFF,
}


def _on(view: View, name: str, support: str) -> bool:
    position = view.position(name)
    if support in view.scene.roots:
        other = view.position(support)
        near = float(np.linalg.norm((position - other)[:2])) < _NEAR
        return bool(other[2] <= position[2] and near and view.touching(name, support))
    site = view.site(support)
    if site is None:
        return False
    delta = site.rotation @ (position - site.position)
    above = site.size[2] - 0.005 < delta[2] < site.size[2] + _ABOVE
    inside = bool((np.abs(delta[:2]) < site.size[:2]).all())
    owner = view.scene.owner_of_body(site.body)
    return above and inside and (not owner or view.touching(name, owner))


def _in(view: View, name: str, region: str) -> bool:
    site = view.site(region)
    if site is None:
        return False
    half = np.abs(site.rotation @ site.size)
    delta = view.position(name) - site.position
    low = -half - np.array([0.0, 0.0, 0.01])
    return bool((delta > low).all() and (delta < half).all())
