"""Roman numerals."""

# The seven numerals and their values, the largest first.
NUMERALS = [("M", 1000), ("D", 500), ("C", 100), ("L", 50), ("X", 10), ("V", 5), ("I", 1)]
