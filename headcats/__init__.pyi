"""Public names of headcats and the modules they live in; `__init__.py` imports each at first use."""

__version__: str

from . import (
    errors as errors,
    figures as figures,
    methods as methods,
    metrics as metrics,
    rules as rules,
)
from .categories import (
    categorize as categorize,
    head_table as head_table,
    overlap as overlap,
    relation_members as relation_members,
    replicated as replicated,
    subsampled_overlap as subsampled_overlap,
)
from .evidence import (
    SteeringSettings as SteeringSettings,
    agreement as agreement,
    category_structure as category_structure,
    disagreements as disagreements,
    half_agreement as half_agreement,
    judge_protocols as judge_protocols,
    method_agreement as method_agreement,
    method_scores as method_scores,
    steer as steer,
    steering_heads as steering_heads,
)
from .evidence.relation_ablation import relation_ablation as relation_ablation
from .evidence.roles.attention import attention_by_role as attention_by_role
from .evidence.roles.patching import patching_by_role as patching_by_role
from .gates import (
    GatingSettings as GatingSettings,
    contrastive_gates as contrastive_gates,
    toggle_curves as toggle_curves,
)
from .models import (
    Head as Head,
    HookedModel as HookedModel,
    load_model as load_model,
)
from .page import report as report
from .presets import preset as preset
from .probes.functions.cogqa import cogqa_texts as cogqa_texts
from .probes.functions.results import importance_effects as importance_effects
from .probes.functions.scaling import scale_function_heads as scale_function_heads
from .probes.functions.settings import FunctionProbeSettings as FunctionProbeSettings
from .probes.tokens.question import Question as Question
from .probes.tokens.settings import TokenProbeSettings as TokenProbeSettings
from .prompts import PromptPair as PromptPair
from .prompts.answered import (
    AnsweredBatch as AnsweredBatch,
    AnsweredText as AnsweredText,
)
from .prompts.batch import PromptBatch as PromptBatch
from .relations import (
    dynamic_relation as dynamic_relation,
    salient_tokens as salient_tokens,
)
from .results import (
    load as load,
    suite_blocks as suite_blocks,
)
from .scores import (
    function_vector_heads as function_vector_heads,
    score as score,
)
from .scores.always_any import always_any as always_any
from .study import (
    run as run,
    run_evidence as run_evidence,
    task_prompts as task_prompts,
)
from .sweeps import (
    cumulative as cumulative,
    joint_sweep as joint_sweep,
    sweep as sweep,
)
from .tasks import (
    Suite as Suite,
    Task as Task,
    make_suite as make_suite,
    suite as suite,
    task as task,
)
from .tasks.texts import task_texts as task_texts
from .views.writing import write_views as write_views
