"""What an episode is judged by: navigation (SPL and its relatives) and segmentation (J, F, null accuracy).

Mask measures are kept apart, because two empty masks agree perfectly: averaged over an exploration in which the
target is mostly out of view they would hide everything.  J and F count only frames that show the target, null
accuracy only those that do not, and the final view has a figure of its own.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from .masks import Mask
from .occupancy import disk

MIN_VISIBLE = 0.0004
"""The share of the image that a thing must cover to count as visible: 27 of 256 x 256 pixels."""
_BOUNDARY_TOLERANCE = 0.008
"""Of the image's diagonal; the DAVIS benchmark's (Perazzi et al., CVPR 2016)."""


def spl(success: bool, shortest: float, travelled: float) -> float:
    """Success weighted by path length (Anderson et al., 2018, arXiv:1807.06757)."""
    return float(success) * shortest / max(shortest, travelled, 1e-9)


def soft_spl(shortest: float, remaining: float, travelled: float) -> float:
    """SPL with progress in place of success (Datta et al., 2020, arXiv:2009.03231)."""
    progress = max(0.0, 1.0 - remaining / max(shortest, 1e-9)) if math.isfinite(remaining) else 0.0
    return progress * shortest / max(shortest, travelled, 1e-9)


def jaccard(guess: Mask, truth: Mask) -> float:
    """Region similarity J: intersection over union; 1 when both are empty."""
    union = int(np.count_nonzero(guess | truth))
    return 1.0 if union == 0 else int(np.count_nonzero(guess & truth)) / union


def boundary_f(guess: Mask, truth: Mask) -> float:
    """Contour accuracy F of DAVIS: the F-measure of boundary pixels within a tolerance; 1 when both are empty."""
    if not guess.any() or not truth.any():
        return float(guess.any() == truth.any())
    element = disk(math.ceil(_BOUNDARY_TOLERANCE * math.hypot(*truth.shape)), 1.0)
    ours, theirs = _boundary(guess), _boundary(truth)
    precision = float((ours & ndimage.binary_dilation(theirs, element)).sum() / max(ours.sum(), 1))
    recall = float((theirs & ndimage.binary_dilation(ours, element)).sum() / max(theirs.sum(), 1))
    return 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)


def _boundary(mask: Mask) -> NDArray[np.bool_]:
    """Pixels that differ from the one to their right, below, or both, as in DAVIS."""
    right, below, diagonal = mask.copy(), mask.copy(), mask.copy()
    right[:, :-1] = mask[:, 1:]
    below[:-1] = mask[1:]
    diagonal[:-1, :-1] = mask[1:, 1:]
    return (mask ^ right) | (mask ^ below) | (mask ^ diagonal)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FrameScore:
    """One frame's agreement.

    Attributes:
        visible: whether the target covers at least `MIN_VISIBLE` of the image.
        j: region similarity.
        f: contour accuracy; where the target is not visible, whether the submitted mask is empty.
        empty: whether the submitted mask is empty.
    """

    visible: bool
    j: float
    f: float
    empty: bool


def score_frame(guess: Mask, truth: Mask) -> FrameScore:
    """Compare one submitted mask with the truth."""
    visible = bool(truth.mean() >= MIN_VISIBLE)
    # F costs two dilations, so it is computed only where it counts.
    f = boundary_f(guess, truth) if visible else float(not guess.any())
    return FrameScore(visible=visible, j=jaccard(guess, truth), f=f, empty=not guess.any())


def mask_metrics(scores: Sequence[FrameScore], final: FrameScore | None) -> dict[str, float]:
    """Means over one episode; what no frame defines is left out.

    Args:
        scores: of every frame that the agent decided on.
        final: of the view in which it stopped.
    """
    shown = [score for score in scores if score.visible]
    hidden = [score for score in scores if not score.visible]
    result: dict[str, float] = {"visible_frames": float(len(shown))}
    if shown:
        j, f = float(np.mean([s.j for s in shown])), float(np.mean([s.f for s in shown]))
        result |= {"j": j, "f": f, "jf": (j + f) / 2}
    if hidden:
        result["null_accuracy"] = float(np.mean([s.empty for s in hidden]))
    if final is not None and final.visible:
        result |= {"final_j": final.j, "final_f": final.f}
    return result
