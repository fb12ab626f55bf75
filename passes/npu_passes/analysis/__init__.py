"""IR read into plan data: lifetimes, accesses, views, affine indices. Nothing here changes IR."""
