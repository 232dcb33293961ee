"""What the model is told beside the conversation: who it is, where it works, and by which rules."""
