"""The contract between Threadloom and its clients: values and names, no I/O."""
