"""The bundled model: a folder in the Hugging Face layout, and the scripts that made it."""
