"""Ways to reach the server: framing only, no JSON."""
