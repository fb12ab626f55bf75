"""Post-training quantisation."""
