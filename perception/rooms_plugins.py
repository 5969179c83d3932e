"""Open-vocabulary perception from local checkpoints: a detector (Grounding DINO or OWLv2) and SAM 2 for its masks.

Everything comes from folders in transformers' format and nothing is downloaded (``local_files_only``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..envs import Array, Observation
from ..errors import MissingDependency, UsageError, WeightsError, choices, install_line, require
from .contract import Detection

DETECTORS = ("grounding-dino", "owlv2")


class OpenVocabulary:
    """Detects phrases and segments their boxes.

    Args:
        detector: ``"grounding-dino"`` or ``"owlv2"``.
        detector_path: folder of its checkpoint.
        segmenter_path: folder of a SAM 2 checkpoint; None for boxes alone.
        threshold: boxes below this confidence are left out.

    Raises:
        UsageError: there is no such detector.
        MissingDependency: transformers is not installed.
        WeightsError: a folder holds no checkpoint, or one of another model.
    """

    def __init__(
        self, detector: str, detector_path: Path, segmenter_path: Path | None, *, threshold: float = 0.25
    ) -> None:
        if detector not in DETECTORS:
            raise UsageError(f"there is no detector {detector!r}. {choices(detector, DETECTORS)}")
        library = _transformers()
        self.name = detector if segmenter_path is None else f"{detector}+sam2"
        self._grounding = detector == "grounding-dino"
        self._threshold = threshold
        model = "GroundingDinoForObjectDetection" if self._grounding else "Owlv2ForObjectDetection"
        self._detector = _load(getattr(library, model), detector_path)
        self._processor = _load(library.AutoProcessor, detector_path)
        self._segmenter: Any = None
        if segmenter_path is not None:
            self._segmenter = _load(library.Sam2Model, segmenter_path)
            self._prompts = _load(library.Sam2Processor, segmenter_path)

    def detect(self, observation: Observation, queries: Sequence[str], *, camera: str) -> list[Detection]:
        """Everything that matches a phrase, most confident first.

        Raises:
            ContractError: the observation has no such camera.
        """
        key = f"images.{camera}"
        require(key in observation, f"the observation has no {key!r}; it has {sorted(observation)}")
        if not queries:
            return []
        image = observation[key]
        found = sorted(self._boxes(image, list(queries)), key=lambda detection: -detection.score)
        return found if self._segmenter is None else self._with_masks(image, found)

    def _boxes(self, image: Array, queries: list[str]) -> list[Detection]:
        import torch

        height, width = image.shape[:2]
        # Grounding DINO reads phrases as one sentence, each ending in a full stop; OWLv2 takes a list.
        text: Any = " ".join(f"{query}." for query in queries) if self._grounding else [queries]
        inputs = self._processor(images=image, text=text, padding=True, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            outputs = self._detector(**inputs)
        options: dict[str, Any] = {"threshold": self._threshold, "target_sizes": [(height, width)]}
        if self._grounding:
            result = self._processor.post_process_grounded_object_detection(outputs, inputs["input_ids"], **options)[0]
            labels = [str(label) for label in result["text_labels"]]
        else:
            result = self._processor.post_process_grounded_object_detection(outputs, text_labels=[queries], **options)[
                0
            ]
            labels = [str(label) for label in result["text_labels"]]
        limits = np.array([width, height, width, height], np.float32)
        found: list[Detection] = []
        for label, score, edges in zip(labels, result["scores"].tolist(), result["boxes"].numpy(), strict=True):
            box = np.clip(edges, 0, limits).astype(np.float32)
            # A phrase may come back in part ("mug" of "red mug"): the query that it belongs to is what was asked.
            query = next((query for query in queries if label and label in query), "")
            if query and box[2] > box[0] and box[3] > box[1]:
                found.append(Detection(label=query, score=min(max(float(score), 0.0), 1.0), box=box))
        return found

    def _with_masks(self, image: Array, found: list[Detection]) -> list[Detection]:
        import torch

        if not found:
            return []
        boxes = [[detection.box.tolist() for detection in found]]
        inputs = self._prompts(images=image, input_boxes=boxes, return_tensors="pt")
        with torch.inference_mode():
            outputs = self._segmenter(**inputs, multimask_output=False)
        masks = self._prompts.post_process_masks(outputs.pred_masks, inputs["original_sizes"])[0]
        return [
            Detection(label=d.label, score=d.score, box=d.box, mask=np.asarray(mask[0].numpy(), np.bool_))
            for d, mask in zip(found, masks, strict=True)
        ]


def build_plugin(spec: str) -> OpenVocabulary:
    """The perception that a value such as ``"grounding-dino:DIR+sam2:DIR"`` names.

    Raises:
        UsageError: it is not of that form.
        MissingDependency: transformers is not installed.
        WeightsError: a folder holds no checkpoint.
    """
    parts = {name: path for name, _, path in (part.partition(":") for part in spec.split("+"))}
    detector = next((name for name in DETECTORS if parts.get(name)), "")
    if not detector or set(parts) - {detector, "sam2"} or not all(parts.values()):
        raise UsageError(
            f"{spec!r} names no perception. Write trained, grounding-dino:DIR+sam2:DIR or owlv2:DIR+sam2:DIR."
        )
    segmenter = Path(parts["sam2"]) if "sam2" in parts else None
    return OpenVocabulary(detector, Path(parts[detector]), segmenter)


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise MissingDependency(
            "transformers", purpose="Open-vocabulary perception", install=install_line("perception")
        ) from error
    return transformers


def _load(kind: Any, path: Path) -> Any:
    if not path.is_dir():
        raise WeightsError(
            f"there is no checkpoint folder at {path} for {kind.__name__}. Download one in transformers' format "
            "where there is a network, and give its folder."
        )
    try:
        loaded = kind.from_pretrained(str(path), local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise WeightsError(f"{path} holds no checkpoint that {kind.__name__} can read: {error}") from error
    return loaded.eval() if hasattr(loaded, "eval") else loaded
