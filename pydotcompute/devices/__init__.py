"""Which backends there are, which of them run here, and which is preferred."""
