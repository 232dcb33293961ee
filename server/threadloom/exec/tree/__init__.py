"""What runs beside the server: a keeper that forks, and a warden per command that lets nothing of it get away.

These modules and those of the sandbox that they use run in a bare interpreter: they import the standard library alone.
"""
