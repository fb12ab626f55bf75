"""Convolutions and fully connected layers of bytes as loops that suit the core they run on."""
