"""What users have accepted, or called false: which results a waiver covers, and until when.

A waiver is made, and ends, in ``standings``, since each of them judges standings anew.
"""
