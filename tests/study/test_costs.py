"""What the parts of a study cost: counting changes nothing."""

import torch

from headcats.models.shape import ModelShape
from headcats.study.costs import Counting, Work
from headcats.study.plan import plan
from headcats.study.written import written
from headcats.sweeps.sizes import Sizes

SHAPE = ModelShape(3, 4, 2, 32, 16, 64, 60, 3, name="small")


def test_reference_runs_are_those_of_the_first_method_however_often_they_are_counted() -> None:
    two = ["country_capital", "country_language"]
    methods = ["mean_ablation@last", "mean_ablation", "mean_ablation:reference=task", "denoising_patch"]
    preparation, _ = written(plan(suite_source=two, methods=methods, n_prompts=4), None, folder=None)
    sizes = Sizes.planned(SHAPE, torch.float32, on_cpu=True)
    counting = Counting(SHAPE, sizes, preparation, scale=1.0, budget=10**9)
    works = counting.reference_runs()
    assert counting.reference_runs() == works
    suite, same_mean, own_tasks, none = works.values()
    assert suite == own_tasks != Work()
    assert same_mean == none == Work()
