"""The compiler driver from a model to C, its observers, and the check that results stay equal."""
