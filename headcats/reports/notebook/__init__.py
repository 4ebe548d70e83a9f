"""What a notebook shows of results, scores, memberships and overlaps: a small map and a table of categories."""
