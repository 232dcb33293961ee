"""The second half of the composition: what a server needs once it is asked for it, and not before."""
