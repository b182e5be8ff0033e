"""Which tests each dataset has: the standard ones that metadata leads to, and those that users write.

Running them is the work of ``execution_engine``.
"""
