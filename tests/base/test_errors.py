"""One base for every error and one for every warning, and text that reads as a sentence."""

import inspect

from for_each import for_each

from headcats.base import errors

CLASSES = [item for _, item in inspect.getmembers(errors, inspect.isclass)]


@for_each("item", CLASSES)
def test_everything_has_the_common_base_and_a_docstring(item):
    assert issubclass(item, errors.HeadcatsError | errors.HeadcatsWarning)
    assert issubclass(item, errors.HeadcatsError) != item.__name__.endswith("Warning")
    assert item.__doc__


@for_each(
    "item,also",
    [
        (errors.UnknownNameError, KeyError),
        (errors.OptionError, ValueError),
        (errors.DataError, ValueError),
        (errors.ModelError, ValueError),
        (errors.PlanError, ValueError),
        (errors.StorageError, OSError),
        (errors.HeadcatsWarning, UserWarning),
        (errors.MemoryLimitError, errors.OptionError),
        (errors.MemoryLimitError, errors.MemoryShortageError),
    ],
)
def test_each_is_also_what_a_script_would_catch(item, also):
    assert issubclass(item, also)


def test_text_is_the_sentence_alone():
    """A KeyError prints the repr of its argument, an OSError its number."""
    assert str(errors.UnknownNameError("Unknown task 'x'.")) == "Unknown task 'x'."
    assert str(errors.StorageError("Cannot write.")) == "Cannot write."
    assert str(errors.DataError()) == ""
