"""The torch device that a training run uses."""

from __future__ import annotations

from ...errors import ConfigError


def device_for(wanted: str) -> str:
    """The torch device that a configuration means.

    Args:
        wanted: a device, or ``"auto"`` for the best that is there.

    Raises:
        ConfigError: it is not there.
    """
    from lerobot.utils.device_utils import auto_select_torch_device, is_torch_device_available

    if wanted == "auto":
        return auto_select_torch_device().type
    if wanted.partition(":")[0] not in ("cpu", "cuda", "mps", "xpu") or not is_torch_device_available(wanted):
        raise ConfigError(f"there is no device {wanted!r} here; say cpu, or auto for the best that is there.")
    return wanted
