"""How often drift of many columns raises a false alarm, and which drift of one column it finds."""
