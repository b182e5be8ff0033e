"""Vital signs on held-out histories: how often they are wrong, and what they find of stops and half loads."""
