"""A shopping cart that counts in cents."""


class Cart:
    """Items with a price in cents and a quantity."""

    def __init__(self):
        self._lines = []

    def add(self, name, cents, quantity=1):
        """Puts an item into the cart."""
        if cents < 0 or quantity < 1:
            raise ValueError("a price is not negative and a quantity is at least one")
        self._lines.append((name, cents, quantity))

    def total(self):
        """The sum of all lines, in cents."""
        return sum(cents for _, cents, quantity in self._lines)

    def discounted(self, percent):
        """The total less a percentage, rounded half up."""
        return (self.total() * (100 - percent) + 50) // 100
