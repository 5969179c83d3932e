"""LeRobot both ways: our worlds and our agents in stock ``lerobot-eval``.

``--env.discover_packages_path=thinktwice.rollouts.lerobot`` (or the same with ``--policy.``) makes LeRobot import this
package, which registers the environment ``--env.type=thinktwice`` and the policy ``--policy.type=thinktwice``.

| module | content |
| --- | --- |
| `episodes` | a world's episodes as the environment that LeRobot steps |
| `environment` | the configuration that LeRobot builds it from |
| `configuration_thinktwice`, `modeling_thinktwice`, `processor_thinktwice` | any agent as a policy; LeRobot finds the |
| | three by their names |
| `exchange` | what the environment says to the policy beside the observation |
| `options` | options as one line of text |
"""

from __future__ import annotations
