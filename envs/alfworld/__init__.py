"""ALFWorld: household tasks in text and rendered images, on the real games or on generated ones."""
