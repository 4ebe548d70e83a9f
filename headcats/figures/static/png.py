"""Colours of cells as a PNG, one pixel a cell."""

import base64
import struct
import zlib

import numpy as np
from jaxtyping import UInt8


def png_address(rgba: UInt8[np.ndarray, "row column rgba"]) -> str:
    """The picture as an address that stands for its content (`data:image/png;base64,...`)."""
    rows, columns, _ = rgba.shape
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), rgba.reshape(rows, -1)], axis=1)  # filter 0 of every line
    header = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )
    return f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
