"""What every training loop here shares: the optimiser, the averaged weights, and their state on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .base_config import BaseTrainConfig
from .schedule import learning_rate, update_average
from .state import load_state, save_state

if TYPE_CHECKING:
    from torch import Tensor, nn

_MAX_GRADIENT = 1.0


class Learner:
    """A network that learns by AdamW with clipped gradients, and the exponential average of its weights.

    Args:
        network: on its device.
        config: learning rate, warm-up, steps, weight decay, and decay of the averaged weights.
        betas: AdamW's decay of the gradient's first and second moments.
    """

    def __init__(
        self, network: nn.Module, config: BaseTrainConfig, *, betas: tuple[float, float] = (0.9, 0.999)
    ) -> None:
        import torch

        self.network, self._config = network, config
        self._averaged = {name: value.detach().clone() for name, value in network.state_dict().items()}
        self._optimizer = torch.optim.AdamW(
            network.parameters(), lr=config.lr, weight_decay=config.weight_decay, betas=betas, fused=True
        )

    def lr(self, step: int) -> float:
        """The learning rate of a step, counted from 0: it rises to its peak and falls by a cosine until the last."""
        config = self._config
        return learning_rate(step, peak=config.lr, warmup=config.warmup, steps=config.steps)

    def descend(self, loss: Tensor, step: int) -> None:
        """One step down the gradient of a loss ``[]``, then one of the average."""
        import torch

        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), _MAX_GRADIENT)
        for group in self._optimizer.param_groups:
            group["lr"] = self.lr(step)
        self._optimizer.step()
        update_average(self._averaged, self.network, decay=self._config.ema, step=step)

    @contextlib.contextmanager
    def averaged(self) -> Generator[None]:
        """While this is open, the network has the averaged weights and is in evaluation mode."""
        present = {name: value.clone() for name, value in self.network.state_dict().items()}
        self.network.load_state_dict(self._averaged)
        self.network.eval()
        try:
            yield
        finally:
            self.network.load_state_dict(present)

    def save(self, folder: Path, *, step: int, config: dict[str, Any]) -> None:
        """Write everything that :meth:`load` needs, see :func:`.state.save_state`."""
        save_state(folder, self.network, self._averaged, self._optimizer, step=step, config=config)

    def load(self, folder: Path, *, config: dict[str, Any]) -> int:
        """Read it back, see :func:`.state.load_state`; returns how many steps are done."""
        return load_state(folder, self.network, self._averaged, self._optimizer, config=config)
