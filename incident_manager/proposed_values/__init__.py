"""Values that people left out of a dataset, proposed from what its data and commits have shown, each with its evidence.

The rules are pure. Who accepts one corrects the dataset by ``assay.catalog.corrections``; the services do so by policy.
"""
