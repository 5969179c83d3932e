"""The memory's layers: what they keep, what they drop, and their bounds."""

from __future__ import annotations

import numpy as np

from thinktwice.agents.lesa.landmarks import CAPACITY, Landmarks
from thinktwice.agents.lesa.memory import KEYFRAMES, RING, FrameMemory, Memory
from thinktwice.agents.lesa.tracks import MaskTrack
from thinktwice.agents.navigation.geometry import Pose
from thinktwice.envs import Array
from thinktwice.envs.rooms.masks import encode
from thinktwice.perception import Detection

POSE = Pose(x=0, y=0, yaw=0, pitch=0)
IMAGE = np.zeros((64, 64, 3), np.uint8)


def mask(column: int) -> Array:
    picture = np.zeros((64, 64), np.bool_)
    picture[20:30, column : column + 10] = True
    return picture


def frame(index: int, shows: set[int], masks: dict[int, Array] | None = None) -> Memory:
    encoded = {key: encode(value) for key, value in (masks or {}).items()}
    return Memory(frame=index, pose=POSE, masks=encoded, shows=frozenset(shows))


def test_a_keyframe_is_kept_for_what_no_other_shows() -> None:
    memory = FrameMemory()
    for index, shows in enumerate([{1}, {1}, {1, 2}, {2}, {3}]):
        memory.add(frame(index, shows), IMAGE)
    assert [key.frame for key in memory.keyframes] == [0, 2, 4]
    assert memory.keyframes[0].picture is not None


def test_eviction_never_drops_an_object_s_sole_view_while_another_keyframe_can_go() -> None:
    memory = FrameMemory()
    for index in range(KEYFRAMES - 1):
        memory.add(frame(index, {index}), IMAGE)
    memory.add(frame(1000, set(range(10)) | {500}), IMAGE)
    memory.add(frame(1001, {501}), IMAGE)
    shown = frozenset[int]().union(*(key.shows for key in memory.keyframes))
    assert len(memory.keyframes) == KEYFRAMES
    assert shown == set(range(KEYFRAMES - 1)) | {500, 501}
    assert 0 not in [key.frame for key in memory.keyframes]


def test_a_wanted_object_s_sole_view_outlives_all_others() -> None:
    memory = FrameMemory()
    memory.add(frame(0, {0}, {0: mask(3)}), IMAGE)
    for index in range(1, 4 * KEYFRAMES):
        memory.add(frame(index, {index}), IMAGE)
    assert memory.keyframes[0].frame == 0
    assert len(memory.keyframes) == KEYFRAMES
    assert len(memory.ring) == RING


def test_landmarks_are_bounded_and_keep_what_is_wanted() -> None:
    landmarks = Landmarks()
    landmarks.wanted = frozenset({"mug"})
    cloud = np.zeros((64, 64, 3), np.float32)
    for index in range(CAPACITY + 200):
        cloud[..., 0] = index % 7
        cloud[..., 1] = 5.0 * index
        pose = Pose(x=float(index % 7), y=5.0 * index, yaw=0, pitch=0)
        label = "red mug" if index == 3 else "blue vase"
        box = np.array([3, 20, 13, 30], np.float32)
        landmarks.update([Detection(label=label, score=0.9, box=box, mask=mask(3))], cloud, pose, index)
    assert len(landmarks.all()) == CAPACITY
    assert len(landmarks.of(["mug"])) == 1


def test_two_looks_at_one_thing_are_one_landmark_and_two_things_are_two() -> None:
    landmarks = Landmarks()
    cloud = np.zeros((64, 64, 3), np.float32)
    cloud[:, :32, 0] = 1.0
    cloud[:, 32:, 0] = 2.0
    box = np.array([3, 20, 13, 30], np.float32)
    for turn in range(3):
        found = [Detection(label="red mug", score=0.9, box=box, mask=mask(column)) for column in (3, 40)]
        landmarks.update(found, cloud, POSE, turn)
    assert [landmark.seen for landmark in landmarks.all()] == [3, 3]
    assert landmarks.all()[0].look == ("", "red", "")


class Collector:
    """A port that keeps the last mask of every frame."""

    def __init__(self) -> None:
        self.masks: dict[int, Array] = {}

    def __call__(self, mask: Array, *, frame: int | None = None) -> None:
        assert frame is not None
        self.masks[frame] = mask


def test_a_verdict_revises_remembered_frames_backward() -> None:
    memory, port = FrameMemory(), Collector()
    track = MaskTrack(port, memory)
    for index in range(4):
        memory.add(frame(index, {1, 2}, {1: mask(3), 2: mask(40)}), IMAGE)
        track.submit(index, None, (64, 64))
    assert not any(m.any() for m in port.masks.values())
    assert track.revise(2, (64, 64)) == 4
    assert all((m == mask(40)).all() for m in port.masks.values())
    assert track.revise(2, (64, 64)) == 0
    assert track.revise(None, (64, 64)) == 4
    assert not any(m.any() for m in port.masks.values())
    assert track.revised == 8


def test_frames_that_were_forgotten_are_not_revised() -> None:
    memory, port = FrameMemory(), Collector()
    track = MaskTrack(port, memory)
    for index in range(RING + 10):
        memory.add(frame(index, {1}, {1: mask(3)}), IMAGE)
        track.submit(index, None, (64, 64))
    assert track.revise(1, (64, 64)) == RING + 1
    assert not port.masks[5].any()
    assert port.masks[0].any()
    assert port.masks[RING + 9].any()
