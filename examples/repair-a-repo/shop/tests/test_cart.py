"""The shop's test suite."""

import unittest

from shop.cart import Cart


class CartTest(unittest.TestCase):
    def test_total_counts_quantities(self):
        cart = Cart()
        cart.add("tea", 450, 2)
        cart.add("cup", 1200)
        self.assertEqual(cart.total(), 2100)

    def test_discount_rounds_half_up(self):
        cart = Cart()
        cart.add("tea", 455)
        self.assertEqual(cart.discounted(10), 410)

    def test_prices_are_not_negative(self):
        with self.assertRaises(ValueError):
            Cart().add("refund", -1)


if __name__ == "__main__":
    unittest.main()
