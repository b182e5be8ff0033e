"""A schema inferred from accepted batches, and the anomalies of a batch beside it.

After Breck et al., Data Validation for Machine Learning (SysML 2019), and Caveness et al., TensorFlow Data Validation
(SIGMOD 2020). Each accepted batch widens the schema; nothing else does.
"""
