"""What C-like targets share: one printer of the typed tree, told in which dialect. `program.emit` is the way in."""
