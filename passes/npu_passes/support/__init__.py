"""Small things that any pass may use: loop builder, memref facts, symbols."""
