"""The tables that are measured, written once and kept."""
