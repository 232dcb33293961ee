"""Commands: processes, their trees, and the fence around them."""
