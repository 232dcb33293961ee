"""The public API, as a client lives it, over every transport."""
