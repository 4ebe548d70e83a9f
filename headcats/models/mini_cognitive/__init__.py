"""The bundled model "mini-cognitive": a folder in the Hugging Face layout, and the scripts that made it."""
