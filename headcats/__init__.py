"""headcats: which attention heads serve which kind of task, how sure is that, and show me.

The tree is the sentence: a *task* gives *prompts*; a *method* *sweeps* the *model*'s heads and yields *scores*; a
*rule* turns scores into *categories*; *evidence* tests them; *figures* show them. What is passed on from step to step
is labelled arrays (xarray): in memory, in a results folder, or your own.

    >>> import headcats as hc
    >>> results = hc.load("results/mini-icl")  # what the command `headcats run` writes
    >>> scores = hc.score(results, method="denoising_patch", metric="logit_diff")
    >>> scores.effect.dims
    ('task', 'layer', 'head')
    >>> members = hc.categorize(scores)
    >>> [str(name) for name in members.category.values]
    ['Algorithmic', 'Knowledge', 'Linguistic', 'Translation']
    >>> fig = hc.figures.overlap_map(hc.overlap(members))  # fig.show()

An effect is the share of the gap between the clean and the corrupted prompt that one head accounts for; positive means
that the head helps. A head is `in` a category (1), `out` of it (-1) or undecided (0). Layers and heads count from 0,
and layer 9, head 6 prints as `L9H6`. Every example of these pages runs in a directory that holds `results/mini-icl`.

## Models

`load_model` takes a name, a folder or a model of TransformerLens; a `Head` is a place in what it returns.
`describe_heads` says what every head does, whatever the task: where it looks, what it copies, what it writes.

## Tasks and prompts

A function that returns pairs of words becomes a `Task` by `task`; a `suite` names the tasks of a study, `make_suite`
makes one (a `Suite`) of your own. A task may also give finished prompts (`PromptPair`, `SecondCorruption`), and a
script may bring its own tokens (`PromptBatch`). `task_prompts` makes the prompts of a run again.

## Run

`run` scores every head on every task of a suite, with the options of a paper by `hc.methods.preset`, on many machines
by a `Cluster`, or in parts by a `Shard`; `load` reads what it wrote, and `suite_blocks` the blocks of joint methods.
`run_series` is one study over the checkpoints of a model; `headcats.evidence` compares them. `sweep` replaces every
head of a model on one batch, by a method or by an `Intervention` of your own, position by position if asked. `ablate`
replaces several heads of yours at once, beside random ones, `smallest_set` finds the fewest that do the damage, and
`heads` reads them from a file. `plan` says beforehand what a run will take, on a model and devices that need not be
here.

## Score and sort

`score` gives effects with intervals and p values: of a run, of sweeps, or of numbers from elsewhere (`as_block`).
`categorize` gives the heads of every category, and `overlap` which heads are shared.
`headcats.categories` lists them and tests differences between categories; by weights, gates or probes, `categorize`
sorts heads of a block of `suite_blocks`.

## Is it real?

`run_evidence` exchanges the labels of tasks, and ablates the heads of every category on new prompts.
`headcats.evidence` asks whether methods, metrics and positions agree.

## Papers

`headcats.papers` holds methods of papers, a folder each with its figures, presets and file readers. They come in as
those of another package do: a method is `hc.methods.<name>`.

## Look at it

`report` writes one page that explains finished results, with where the heads of every category look after
`save_attention`; `attention` shows in a notebook where chosen heads look in a text, and the functions of
`headcats.figures` draw single figures, which keep a static picture beside the interactive one in a notebook. `export`
writes effects as files for other programs, and `push` puts results on the Hugging Face hub, where `load` reads them by
`hf://owner/name`.

## Ways to score, to judge and to draw

`headcats.methods`, `headcats.metrics`, `headcats.rules` and `headcats.figures` hold what can be named in the calls
above, and what registers more of them. Errors are those of `headcats.errors`.
"""

import pkgutil
import sys

from headcats.base.registry import public_names

__version__ = "0.1.0"

# The public names and their modules stand in __init__.pyi alone; each is imported at first use, so that reading results
# needs no torch.
__getattr__, _names, _ = public_names(__name__, __file__)
__all__ = [*_names, "__version__"]  # noqa: PLE0604 - what is unpacked are strings

if "IPython" in sys.modules:  # by name, like the public names: a module below reads the version from here
    pkgutil.resolve_name("headcats.reports.notebook:show_summaries")()


def __dir__() -> list[str]:
    return sorted(__all__)
