"""The documentation: Markdown pages, with tables made from the code's own when a page is shown."""
