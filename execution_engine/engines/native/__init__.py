"""The one reader of files: kernels in numpy, in this process for small files and else in Spark's tasks.

Spark's tasks take along what ``task`` and ``key_tasks`` need, so that these import nothing of the project beside this
package, ``sound_footers`` and the states of sketches and keys.
"""
