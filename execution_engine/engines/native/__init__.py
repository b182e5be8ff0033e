"""The one reader of files: kernels in numpy, in this process for small files and else in Spark's tasks.

Spark's tasks take along what the functions of ``task`` and ``key_tasks`` use: nothing of the project beside this
package, ``sound_footers`` and the states of sketches and keys. What ``language`` imports of the guard is the driver's.
"""
