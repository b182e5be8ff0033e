"""How many losses and doublings of real daily series ``anomaly()`` finds by default, beside a z-score of seven days."""
