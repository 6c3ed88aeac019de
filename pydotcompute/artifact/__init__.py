"""What both halves of the house say about an artifact: the lowest room, which imports errors alone."""
