"""Templates of agents: what kinds there are, what each is told, and which tools it may use."""
