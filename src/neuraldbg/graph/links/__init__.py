"""Reasons for which one event accounts for another, one kind per file: ``links(events, run)`` yields them."""
