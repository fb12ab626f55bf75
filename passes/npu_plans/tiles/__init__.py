"""Cost model, closed forms and search of tile sizes (paper 004)."""
