"""The flow-matching policy as a LeRobot plug-in.

``--policy.discover_packages_path=thinktwice.agents.policies.flow`` lets LeRobot find the configuration by its name,
``--policy.type=thinktwice_flow``, and ``modeling_flow`` and ``processor_flow`` beside it.
"""

from __future__ import annotations
