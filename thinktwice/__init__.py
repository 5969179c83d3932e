"""thinktwice: embodied agents that act by reflex and think twice only where it pays.

Importing the package registers its worlds with gymnasium, so
``gymnasium.make("thinktwice:thinktwice/Libero-v0")`` and a plain ``import thinktwice`` both work.
Simulators and model libraries are imported only by the module that needs them.
"""

from __future__ import annotations

from .cost import Cost
from .envs.registration import register_worlds
from .errors import ThinkTwiceError

__all__ = ["Cost", "ThinkTwiceError", "__version__"]

__version__ = "0.1.0"

register_worlds()
