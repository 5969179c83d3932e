from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pytest

from thinktwice.agents.training.batches import Augmentation, Frames, usable_labels
from thinktwice.agents.training.demonstrations import Demonstration, read_demonstration, read_folder
from thinktwice.errors import ContractError, RecordError, UsageError


def test_a_demonstration_survives_the_disk(invented, save, tmp_path: Path) -> None:
    made = invented(3)
    read = read_demonstration(save(tmp_path, made))
    assert (read.episode, read.instruction, read.conventions) == (made.episode, made.instruction, made.conventions)
    for name in ("state", "label", "executed"):
        np.testing.assert_array_equal(getattr(read, name), getattr(made, name))
    for camera, frames in made.images.items():
        np.testing.assert_array_equal(read.images[camera], frames)


def test_pixels_stay_on_the_disk_and_no_file_stays_open(invented, save, tmp_path: Path) -> None:
    paths = [save(tmp_path, invented(seed, length=9)) for seed in range(60)]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_now = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 20, hard))
    try:
        read = [read_demonstration(path) for path in paths]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len({demonstration.episode for demonstration in read}) == 60
    mapped = Path("/proc/self/maps").read_text()
    assert all(str(path) in mapped for path in paths)


def test_our_reader_and_the_library_agree(invented, save, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    path = save(tmp_path, invented(1))
    ours, theirs = read_demonstration(path), load_file(path)
    np.testing.assert_array_equal(ours.images["wrist"], theirs["images.wrist"])
    np.testing.assert_array_equal(ours.label, theirs["label"])


@pytest.mark.parametrize("keep", [0, 7, 200, 0.5, 0.999])
def test_a_truncated_file_is_refused(invented, save, tmp_path: Path, keep: float) -> None:
    path = save(tmp_path, invented(0))
    whole = path.read_bytes()
    path.write_bytes(whole[: keep if isinstance(keep, int) else int(keep * len(whole))])
    with pytest.raises(RecordError, match="truncated"):
        read_demonstration(path)


def test_numbers_that_are_not_finite_are_refused(invented, save, tmp_path: Path) -> None:
    made = invented(0)
    made.state[3, 2] = np.nan
    with pytest.raises(RecordError, match="not finite in 'state'"):
        read_demonstration(save(tmp_path, made))


def test_uneven_arrays_are_refused(invented) -> None:
    made = invented(0)
    with pytest.raises(ContractError, match="uneven"):
        Demonstration(
            episode=made.episode,
            instruction="x",
            conventions=made.conventions,
            images=made.images,
            state=made.state[:-1],
            label=made.label,
            executed=made.executed,
        )


def test_folders_are_sorted_and_must_not_repeat(stored: Path, invented, save, tmp_path: Path) -> None:
    assert [d.episode.seed for d in read_folder([stored])] == [0, 1, 2, 3]
    with pytest.raises(UsageError, match="there already"):
        read_folder([stored, stored])
    with pytest.raises(UsageError, match="no demonstrations"):
        read_folder([tmp_path])


def test_labels_are_usable_until_something_unforeseen_happens(invented) -> None:
    usable = usable_labels(invented(0, length=20), chunk=6)
    # Steps 5, 6 and 7 were disturbed: the label after each answers to it.
    assert usable.tolist() == [6, 5, 4, 3, 2, 1, 1, 1, 6, 6, 6, 6, 6, 6, 6, 5, 4, 3, 2, 1]


def test_a_batch_holds_what_was_asked_for(invented) -> None:
    first, second = invented(0), invented(1)
    frames = Frames([first, second], chunk=6)
    assert len(frames) == 40
    batch = frames.batch(np.array([4, 39]), seed=0, augmentation=Augmentation())
    np.testing.assert_array_equal(batch["observation.state"][0], first.state[4])
    np.testing.assert_array_equal(batch["action"][0], first.label[4:10])
    np.testing.assert_array_equal(batch["action"][1], np.repeat(second.label[19:], 6, axis=0))
    assert batch["action_is_pad"].tolist() == [[False, False, True, True, True, True], [False, *[True] * 5]]
    shown = batch["observation.images.wrist"][1].permute(1, 2, 0).numpy()
    np.testing.assert_allclose(shown, second.images["wrist"][19] / 255, atol=1e-6)


def test_augmentation_repeats_with_its_seed_and_keeps_the_labels(invented) -> None:
    frames = Frames([invented(0)], chunk=4)
    strong = Augmentation(shift=3, jitter=0.2)
    first, again, other = (frames.batch(np.array([1, 2]), seed=seed, augmentation=strong) for seed in (0, 0, 1))
    key = "observation.images.agentview"
    assert first[key].equal(again[key])
    assert not first[key].equal(other[key])
    assert first["action"].equal(other["action"])
