"""What code is made for: one folder a target, and what several share."""
