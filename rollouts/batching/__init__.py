"""One policy for many workers: a process holds it and proposes for several environments in one pass."""
