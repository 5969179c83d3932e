"""Baselines for text worlds: ReAct on the world's text, the planner, and random admissible actions."""
