"""How far apart the input and the output of a loop nest must lie to share memory."""
