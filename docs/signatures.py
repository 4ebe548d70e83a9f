"""Signatures with types as users write them: `PromptBatch`, not `headcats.prompts.batch.PromptBatch`."""

import inspect
import re
from typing import Any

from public_names import public_names

# A type with the module it is from; of headcats' own types, public ones stay links.
_QUALIFIED = re.compile(r"\b(?:[a-z_]\w*\.)+([A-Z]\w*|Any)\b")
_PUBLIC_CLASSES = {
    public.name.rpartition(".")[2]: f"headcats.{public.name}" for public in public_names() if public.is_class
}
# As the examples import them.
_SHORT = {"xarray": "xr", "pandas": "pd", "plotly": "go"}


def _as_imported(name: re.Match[str]) -> str:
    package, last = name[0].partition(".")[0], name[1]
    if package == "headcats" and last in _PUBLIC_CLASSES:
        return _PUBLIC_CLASSES[last]
    short = _SHORT.get(package, package)
    return f"{short}.{last}" if short in _SHORT.values() else last


def short_signature(signature: inspect.Signature) -> inspect.Signature:
    """`PromptBatch` for `headcats.prompts.batch.PromptBatch`."""

    def short(annotation: Any) -> Any:
        if annotation is inspect.Signature.empty:
            return annotation
        return _Words(
            _QUALIFIED.sub(
                _as_imported,
                annotation if isinstance(annotation, str) else inspect.formatannotation(annotation),
            )
        )

    parameters = [
        parameter.replace(annotation=short(parameter.annotation)) for parameter in signature.parameters.values()
    ]
    return inspect.Signature(parameters, return_annotation=short(signature.return_annotation))


class _Words:
    """An annotation that is printed as it is, without quotation marks."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text
