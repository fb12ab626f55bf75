"""The order of the ops of a block in which transfers run while layers compute. No IR in here."""
