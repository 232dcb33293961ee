"""Agents: the loop of model and tools, and what it runs on."""
