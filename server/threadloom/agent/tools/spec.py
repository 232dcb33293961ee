"""A tool as the model is told of it: a function of named values, and of no others."""

from __future__ import annotations

from threadloom.agent.sampling import Item


def function(name: str, description: str, properties: Item, *required: str) -> Item:
    """What it does, what it takes, and which of that it must have."""
    return {
        "type": "function",
        "name": name,
        "description": description,
        "strict": False,
        "parameters": values(properties, *required),
    }


def values(properties: Item, *required: str) -> Item:
    """Values by name."""
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


def text(description: str) -> Item:
    """A value that is a text."""
    return {"type": "string", "description": description}
