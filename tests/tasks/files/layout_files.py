"""Small files of every layout, made up in the form of the public ones."""

import json
from pathlib import Path
from typing import Any

FUNCTION_VECTORS = [{"input": "France", "output": "Paris"}, {"output": "Rome", "input": "Italy"}]
MAPS = [["France", "Paris"], ["Italy", "Rome"]]
RELATION = {
    "name": "country capital",
    "prompt_templates": ["The capital of {} is", "{}'s capital is called"],
    "prompt_templates_zs": ["Which city governs {}? It is"],
    "properties": {"relation_type": "factual", "domain_name": "country", "symmetric": False},
    "samples": [
        {"subject": "France", "object": "Paris"},
        {"subject": "Italy", "object": "Rome"},
        {"subject": "Vatican City", "object": "Rome"},
    ],
}
AUTO_CIRCUIT = {
    "seq_labels": ["name", "verb"],
    "word_idxs": {"end": 4},
    "prompts": [
        {
            "clean": "Ann and Bob met, Ann told",
            "corrupt": "Ann and Bob met, Bob told",
            "answers": [" Bob"],
            "wrong_answers": [" Ann", " Eve"],
        },
        {
            "clean": "Tom and Sue met, Tom told",
            "corrupt": "Tom and Sue met, Sue told",
            "answers": [" Sue"],
            "wrong_answers": [" Tom", " Eve"],
        },
    ],
}
IOI_CSV = (
    "clean,corrupted,answer,wrong\n"
    '"Ann and Bob met, Ann told","Ann and Bob met, Bob told", Bob, Ann\n'
    '"Tom and Sue met, Tom told","Tom and Sue met, Sue told", Sue, Tom\n'
)
GREATER_THAN_CSV = (
    "clean,corrupted,label\n"
    "The siege lasted from the year 1452 to the year 14,The siege lasted from the year 1401 to the year 14,52\n"
    "The siege lasted from the year 1699 to the year 16,The siege lasted from the year 1601 to the year 16,99\n"
    "The strike lasted from the year 1703 to the year 17,The strike lasted from the year 1701 to the year 17,3\n"
)


def write(path: Path, content: Any) -> Path:
    """Text and bytes as they are, anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8", newline="")
    return path
