"""Loops for convolutions and fully connected layers of bytes, fitted to the core they run on."""
