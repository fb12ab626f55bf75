"""What each op means, in numpy, for xDSL's interpreter."""
