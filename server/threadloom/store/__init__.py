"""Storage: one append-only log per thread is the truth, an index beside it never leads."""
