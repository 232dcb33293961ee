"""Threads: a tree of actors over their logs."""
