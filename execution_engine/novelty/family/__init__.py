"""All columns as one family of tests: has any drifted, at one false alarm in a hundred batches however many there are?

The maximum over a family follows Westfall and Young, Resampling-Based Multiple Testing (1993).
"""
