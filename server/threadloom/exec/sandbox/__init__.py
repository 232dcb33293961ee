"""The fences: bubblewrap, and a launcher of our own out of Landlock, seccomp and namespaces."""
