"""Public names of headcats and the modules they live in; `__init__.py` imports each at first use."""

__version__: str

from . import (
    categories as categories,
    evidence as evidence,
    figures as figures,
    methods as methods,
    metrics as metrics,
    papers as papers,
    rules as rules,
)
from .base import errors as errors
from .categories.membership import categorize as categorize
from .categories.shared import overlap as overlap
from .sweeps.descriptors.describing import describe_heads as describe_heads
from .models.head import Head as Head
from .models.head_lists import heads as heads
from .models.loading import load_model as load_model
from .reports.exporting import export as export
from .reports.page.writing import report as report
from .prompts.batch import PromptBatch as PromptBatch
from .prompts.pair import PromptPair as PromptPair, SecondCorruption as SecondCorruption
from .results.loading import load as load
from .results.run_results import suite_blocks as suite_blocks
from .results.sharing import push as push
from .scale.ray_cluster import Cluster as Cluster
from .scale.shard import Shard as Shard
from .scores.array_block import as_block as as_block
from .scores.scoring import score as score
from .study.evidence_run import run_evidence as run_evidence
from .scale.resources import plan as plan
from .study.own_heads import ablate as ablate, smallest_set as smallest_set
from .study.prompts_of_task import task_prompts as task_prompts
from .study.runner import run as run
from .scale.series_run import run_series as run_series
from .sweeps.batch_sweep import sweep as sweep
from .sweeps.intervention import Intervention as Intervention
from .tasks.definition import Task as Task, task as task
from .tasks.suites import Suite as Suite, make_suite as make_suite, suite as suite
from .reports.attention.inline import attention as attention
from .reports.attention.saving import save_attention as save_attention
