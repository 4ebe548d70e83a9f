"""What saved results say, as data: findings and tables, with the templates of their sentences. Loads no torch."""
