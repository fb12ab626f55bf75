"""The command-line tools, one file for each command."""
