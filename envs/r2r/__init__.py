"""Room-to-Room: following instructions through a graph of viewpoints, on the standard files or a synthetic house."""
