"""Files of this machine read in this process: profiles of small ones, and small scans by the kernels of ``native``.

What Spark answers of the same files, and the tasks in which it runs the kernels, are in ``spark``.
"""
