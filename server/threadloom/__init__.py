"""Threadloom: an app server for AI coding agents, with a tree of threads at its heart."""

__version__ = "0.1.0"
