"""What is known of data: one pure function answers look-ups, gate, pages, reports and commands alike.

What a pipeline may do with the answer is in the gate's rules.
"""
