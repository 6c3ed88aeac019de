"""One page that shows a project from the inside: `pydotcompute report`."""
