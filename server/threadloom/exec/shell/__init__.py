"""What a command line says, without running it: its words, whether it is harmless, what it is about."""
