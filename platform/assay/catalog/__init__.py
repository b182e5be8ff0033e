"""What the company says of its datasets: profiles, and the providers that read them."""
