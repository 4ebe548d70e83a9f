"""What a head does, whatever the task: where it looks on random tokens, what it copies, what it writes itself."""
