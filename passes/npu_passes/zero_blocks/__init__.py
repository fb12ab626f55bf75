"""Zero blocks of feature maps: pruned, predicted, and left out of transfers (paper 003)."""
