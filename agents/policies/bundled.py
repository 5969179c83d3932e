"""The flow-matching policy behind the policy's contract: ``--policy bundled`` or ``bundled:FOLDER?steps=3``.

The observation is encoded once for any number of candidates.  With ``?batch=B``, B observations share each pass: always
B of them, copies of the last one where fewer are asked about, because a matrix product rounds differently for another
number of rows.  So what a policy proposes depends on B in its last bits, and never on who else was asked about.

What it exposes to critics in `Proposal.features`:

| key | value |
| --- | --- |
| ``summary`` | ``float32[prefix_width]``: all that the action head knows of the observation |
| ``tokens`` | ``float32[cameras * keypoints, W]``: keypoints, camera after camera: x and y in [-1, 1], then features |
| ``language`` | ``float32[language_width]``: the instruction |
| ``state`` | ``float32[S]``: proprioception, normalised |
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from ...cost import Cost, Stopwatch
from ...envs import Array, Conventions, Observation, to_lerobot
from ...errors import ConfigError, ContractError, ConventionError, WeightsError
from ..policy import Look, Proposal, Trained
from .arguments import split_argument
from .candidates import blocks, candidate_noise
from .flow.loading import KIND, open_flow
from .lerobot_checkpoint import CONFIG, Checkpoint

if TYPE_CHECKING:
    from torch import Tensor

WEIGHTS = Path(__file__).parents[1] / "weights" / "flow"
"""Where the bundled checkpoint lies."""

_OPTIONS = ("steps", "device", "batch")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wanted:
    """Candidates ``first`` to ``last`` of an observation that was encoded to ``float32[1, prefix_width]``."""

    summary: Tensor
    first: int
    last: int
    seed: int


class BundledPolicy:
    """A flow-matching checkpoint as a proposal source.

    Candidates are ``float32[N, T, A]`` in the world's units.

    Args:
        name: what records call it.
        checkpoint: the loaded policy and its processors.
        conventions: what it was trained with.
        steps: Euler steps per candidate; None for the checkpoint's own number.
        batch: observations in a pass.
    """

    def __init__(
        self, *, name: str, checkpoint: Checkpoint, conventions: Conventions, steps: int | None, batch: int = 1
    ) -> None:
        self.name = name
        self.conventions: Conventions | None = conventions
        self.steps: int = steps if steps is not None else checkpoint.policy.config.denoising_steps
        self._checkpoint, self._whole = checkpoint, batch

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        """``n`` candidates from one encoding of the observation.

        Raises:
            ContractError: ``n`` is less than 1, or the observation lacks a camera, the state or the instruction, or
                an image or the state has another shape than in training.
            UsageError: the instruction has a word that the policy does not know.
        """
        return self.propose_many([Look(observation=observation, n=n, seed=seed)])[0]

    def propose_many(self, looks: Sequence[Look]) -> list[Proposal]:
        """As `propose` for each, in passes of ``batch`` observations; each accounts for its share of the seconds.

        Raises:
            ContractError: as `propose`, for any of them.
            UsageError: as `propose`, for any of them.
        """
        for look in looks:
            if look.n < 1:
                raise ContractError(f"a proposal needs at least one candidate, got n={look.n}.")
        return [proposal for some in itertools.batched(looks, self._whole) for proposal in self._propose(some)]

    def _propose(self, looks: Sequence[Look]) -> list[Proposal]:
        """For at most ``batch`` looks."""
        import torch

        watch = Stopwatch()
        with torch.inference_mode():
            with watch("prefix"):
                batches = [self._checkpoint.preprocessor(self._batch(look.observation)) for look in looks]
                prefix = self._checkpoint.policy.network.encode_batch(_stacked(self._filled(batches)))
            with watch("denoise"):
                wanted = [
                    Wanted(summary=prefix.summary[place : place + 1], first=0, last=look.n, seed=look.seed)
                    for place, look in enumerate(looks)
                ]
                sampled = self._sample(wanted)
        seconds = {stage: spent / len(looks) for stage, spent in watch.seconds.items()}
        return [
            Proposal(
                chunks=chunks,
                features={
                    **{name: _row(getattr(prefix, name)[place]) for name in ("summary", "tokens", "language")},
                    "state": _row(batches[place]["observation.state"][0]),
                },
                cost=Cost(prefix_passes=1, denoising_steps=look.n * self.steps, candidates=look.n, seconds=seconds),
            )
            for place, (look, chunks) in enumerate(zip(looks, sampled, strict=True))
        ]

    def extend(self, proposal: Proposal, n: int, *, seed: int) -> Proposal:
        """More candidates for a proposal of this policy, without encoding the observation again.

        Args:
            proposal: what `propose` or `extend` gave.
            n: how many candidates there shall be in all.
            seed: the one that the proposal was made with.

        Returns:
            What ``propose(observation, n, seed=seed)`` gives, at the cost of the new candidates alone.

        Raises:
            ContractError: the proposal has ``n`` candidates already, or is not of this policy.
        """
        have, summary = len(proposal.chunks), proposal.features.get("summary")
        width = self._checkpoint.policy.config.prefix_width
        if not 0 < have < n or summary is None or summary.shape != (width,):
            raise ContractError(
                f"{self.name} cannot extend a proposal of {have} candidates to {n}: it must be its own."
            )
        import torch

        watch = Stopwatch()
        with torch.inference_mode(), watch("denoise"):
            encoded = torch.from_numpy(np.array(summary)).to(self._checkpoint.device)[None]
            (chunks,) = self._sample([Wanted(summary=encoded, first=have, last=n, seed=seed)])
        spent = Cost(denoising_steps=(n - have) * self.steps, candidates=n - have, seconds=watch.seconds)
        return dataclasses.replace(proposal, chunks=np.concatenate([np.asarray(proposal.chunks), chunks]), cost=spent)

    def velocity(self, proposal: Proposal, chunks: Array, time: float) -> Array:
        """The velocity field of a proposal's observation, for gates that measure how it bends.

        Args:
            proposal: what `propose` gave for the observation.
            chunks: ``float32[N, T, A]``, normalised and partly noise.
            time: 1 is noise, 0 is actions.

        Returns:
            ``float32[N, T, A]``: noise minus actions, normalised.
        """
        import torch

        device = self._checkpoint.device
        with torch.inference_mode():
            points = torch.from_numpy(np.asarray(chunks, np.float32)).to(device)
            summary = torch.from_numpy(np.array(proposal.features["summary"])).to(device)
            times = torch.full((len(points),), time, device=device)
            field = self._checkpoint.policy.network.velocity(points, times, summary.expand(len(points), -1))
        return field.cpu().numpy()

    def describe(self) -> dict[str, Any]:
        """Kind, weights' hash, sampler and normalisation."""
        config = self._checkpoint.policy.config
        return {
            "policy": "bundled",
            "type": KIND,
            "checkpoint": self.name,
            "sha256": self._checkpoint.sha256,
            "parameters": sum(parameter.numel() for parameter in self._checkpoint.policy.parameters()),
            "device": self._checkpoint.device,
            "chunk_size": config.chunk_size,
            "denoising_steps": self.steps,
            "bfloat16": config.bfloat16,
            "normalization": self._checkpoint.normalization,
            # Left out where it is 1, so that clutches and runs of before go on with this policy.
            **({"batch": self._whole} if self._whole > 1 else {}),
        }

    def _batch(self, observation: Observation) -> dict[str, Any]:
        """The observation under LeRobot's names, images ``float32[3, H, W]`` in [0, 1]."""
        import torch

        named = to_lerobot(observation)
        batch: dict[str, Any] = {}
        for key, feature in self._checkpoint.policy.config.input_features.items():
            shape = tuple(feature.shape)
            if key not in named:
                raise ContractError(f"{self.name} needs {key!r} in the observation, which holds {sorted(named)}.")
            value: Array = named[key]
            value = value.transpose(2, 0, 1) if value.dtype == np.uint8 else value
            if value.shape != shape:
                raise ContractError(f"{self.name} was trained with {key} of shape {shape}, not {value.shape}.")
            scale = 255 if value.dtype == np.uint8 else 1
            batch[key] = torch.from_numpy(np.ascontiguousarray(value)).float() / scale
        batch["task"] = named.get("task", "")
        return batch

    def _sample(self, wanted: Sequence[Wanted]) -> list[Array]:
        """What is wanted of each observation, in the world's units.

        The pair that every proposal begins with is drawn for ``batch`` observations at once; the blocks after it are
        large enough for one.
        """
        import torch

        drawn: list[dict[int, Tensor]] = [{} for _ in wanted]
        for start, stop in blocks(0, max(one.last for one in wanted)):
            places = [place for place, one in enumerate(wanted) if start < one.last and stop > one.first]
            for some in itertools.batched(places, self._whole if start == 0 else 1):
                chunks = self._block([wanted[place] for place in some], start, stop, filled=start == 0)
                for place, candidates in zip(some, chunks, strict=False):
                    one = wanted[place]
                    drawn[place][start] = candidates[max(0, one.first - start) : one.last - start]
        return [
            self._checkpoint.postprocessor(torch.cat([parts[start] for start in sorted(parts)]))
            .to("cpu", torch.float32)
            .numpy()
            for parts in drawn
        ]

    def _block(self, wanted: Sequence[Wanted], start: int, stop: int, *, filled: bool) -> list[Tensor]:
        """Candidates ``start`` to ``stop`` of some observations, normalised."""
        import torch

        network = self._checkpoint.policy.network
        noise = [
            np.stack([candidate_noise(one.seed, index, network.chunk_shape) for index in range(start, stop)])
            for one in wanted
        ]
        summaries = [one.summary for one in wanted]
        if filled:
            noise, summaries = self._filled(noise), self._filled(summaries)
        summary = torch.cat(summaries)
        chunks = network.sample(summary, torch.from_numpy(np.concatenate(noise)).to(summary.device), steps=self.steps)
        return list(chunks.split(stop - start))

    def _filled[T](self, rows: Sequence[T]) -> list[T]:
        """``batch`` of them, the last one repeated."""
        return [*rows, *[rows[-1]] * (self._whole - len(rows))]


def build_bundled(argument: str, env: gym.Env[Any, Any]) -> BundledPolicy:  # noqa: ARG001  every builder takes the env
    """Load the bundled checkpoint, or another one of its kind: ``FOLDER?steps=3&device=cpu``.

    Raises:
        ConfigError: an option is wrong.
        WeightsError: the checkpoint is missing, damaged, of another kind, or normalises otherwise than it was trained.
        ConventionError: it does not say which conventions it was trained with.
    """
    asked = _parse(argument)
    checkpoint = open_flow(asked.folder, device=asked.device)
    return BundledPolicy(
        name=asked.name,
        checkpoint=checkpoint,
        conventions=_conventions(checkpoint, asked.name),
        steps=asked.steps,
        batch=asked.batch,
    )


def read_trained(argument: str) -> Trained:
    """How the checkpoint that ``bundled:argument`` names was trained; reads its configuration alone.

    Raises:
        ConfigError: an option is wrong.
        WeightsError: the checkpoint is missing or its configuration cannot be read.
        ConventionError: it does not say which conventions it was trained with.
    """
    asked = _parse(argument)
    path = asked.folder / CONFIG
    try:
        config = json.loads(path.read_text())
        conventions, execute = config.get("conventions"), config.get("n_action_steps")
    except (OSError, ValueError, AttributeError) as error:
        raise WeightsError(f"{path} cannot be read: {error}.") from error
    return Trained(conventions=_declared(conventions, asked.name), execute=execute)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Asked:
    """What stands after ``bundled:``, checked as far as that needs no torch."""

    name: str
    folder: Path
    device: str | None
    steps: int | None
    batch: int


def _parse(argument: str) -> _Asked:
    target, options = split_argument("bundled", argument, _OPTIONS)
    return _Asked(
        name=f"bundled:{target}" if target else "bundled",
        folder=_folder(target),
        device=options.get("device"),
        steps=_number(options, "steps", "of Euler steps"),
        batch=_number(options, "batch", "of observations in a pass") or 1,
    )


def _folder(target: str) -> Path:
    folder = Path(target).expanduser() if target else WEIGHTS
    if not (folder / CONFIG).is_file():
        fix = "Train one: thinktwice train policy --help" if not target else "Give the folder that holds config.json."
        raise WeightsError(f"there is no policy checkpoint in {folder}. {fix}")
    return folder


def _number(options: dict[str, str], name: str, unit: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"bundled?{name}={text}: {name} must be a whole number {unit}, at least 1.")
    return int(text)


def _conventions(checkpoint: Checkpoint, name: str) -> Conventions:
    config = checkpoint.policy.config
    conventions = _declared(config.conventions, name)
    declared = {camera.name for camera in conventions.cameras}
    read = {key.removeprefix("observation.images.") for key in config.image_features}
    if declared != read:
        raise ConventionError(
            f"{name} reads the cameras {sorted(read)} and declares conventions of {sorted(declared)}."
        )
    return conventions


def _declared(conventions: dict[str, Any] | None, name: str) -> Conventions:
    if not conventions:
        raise ConventionError(
            f"{name} does not say which conventions it was trained with, because lerobot-train does not record them. "
            "Train with `thinktwice train policy`, or declare them: see --policy lerobot:FOLDER."
        )
    return Conventions.from_json(conventions)


def _stacked(batches: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Batches of one as one batch; what is no tensor is not needed by the network."""
    import torch

    if len(batches) == 1:
        return batches[0]
    tensors = [name for name, value in batches[0].items() if isinstance(value, torch.Tensor)]
    return {name: torch.cat([batch[name] for batch in batches]) for name in tensors}


def _row(tensor: Tensor) -> Array:
    return tensor.float().cpu().numpy()
