"""The flow-matching policy as a LeRobot plug-in.

With ``--policy.discover_packages_path=thinktwice.agents.policies.flow --policy.type=thinktwice_flow``, LeRobot finds the
configuration by its registered name, and ``modeling_flow`` and ``processor_flow`` beside it.
"""

from __future__ import annotations
