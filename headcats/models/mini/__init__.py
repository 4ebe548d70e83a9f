"""The bundled model "mini": a folder in the Hugging Face layout, and the scripts that made it."""
