"""Handlers: they find, ask and answer; one file per resource."""
