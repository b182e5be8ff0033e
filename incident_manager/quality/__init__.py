"""What is known of data: one pure function answers look-ups, gate, pages, reports and commands alike."""
