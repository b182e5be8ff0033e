"""What the platform costs, against what others cost: measured on the machine at hand, never part of the tests."""
