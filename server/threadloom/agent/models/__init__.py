"""Models: one file per provider."""
