"""Tools: one file each."""
