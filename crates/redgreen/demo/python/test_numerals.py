"""The test that exists before the kata begins."""

import unittest

from roman import NUMERALS


class Numerals(unittest.TestCase):
    def test_the_largest_numeral_comes_first(self):
        values = [value for _, value in NUMERALS]
        self.assertEqual(values, sorted(values, reverse=True))
