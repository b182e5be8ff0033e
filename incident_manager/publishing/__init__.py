"""Write, audit, publish: a pointer to data is moved only while the data is the one that its hard tests judged and hold.

What a pipeline may read is answered in ``gate``. Nothing here writes data, save copies of what was audited.
"""
