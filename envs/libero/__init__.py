"""LIBERO's manipulation tasks.

``world`` is what the command line opens and imports no simulator; ``env`` is the gymnasium environment.
"""
