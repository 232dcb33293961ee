"""One suite per port, for every implementation of it."""
