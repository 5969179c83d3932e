"""Engines beside the processes of `thinktwice.rollouts.pool`."""
