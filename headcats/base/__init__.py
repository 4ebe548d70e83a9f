"""Registry, errors, guard of what others register, and the Hugging Face hub: below everything else."""
