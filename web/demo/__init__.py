"""The demo: 28 days of real flights and weather, with known faults, replayed under a simulated clock.

It calls the product as users do; nothing of the product knows it.
"""
