"""What the pages show, read in a few statements each."""
