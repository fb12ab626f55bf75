"""Instructions of a program of loops, predicted by a table of costs: plain data, without IR."""
