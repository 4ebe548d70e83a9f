"""Specification of a map: the scores that heads are judged by, and how; with its title, file names and options."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from headcats.base.errors import DataError, OptionError, UnknownNameError, pluralize
from headcats.categories.judging import check_min_tasks
from headcats.results.block_files import slug
from headcats.results.declaration import approximation_label
from headcats.results.head_axes import HEAD
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.rules.discovery_rate import fdr
from headcats.rules.rule import Rule, parse_rule, rule_text

EFFECTS, SIGNS = ("total", "task_specific"), ("helping", "suppressing")
EVIDENCE = "evidence"
"""Folder of the evidence within a results folder; options that are not the default are added to its name."""
EVIDENCE_TABLES = ("relabelling", "specificity")
"""Tables of one test of the categories, a file each."""


@dataclass(frozen=True)
class MapSpec:
    """Method, metric, rule and sign of a map: the options that a report and a test of its categories share."""

    # without a name, or without positions, `resolve` takes what the results hold
    label: Label = field(default_factory=lambda: Label(""))
    metric: str = ""  # "" is the first of the run
    effect: str = "total"  # "total" or "task_specific", as in `hc.score`
    rule: Rule = field(default_factory=fdr)
    min_tasks: int | str = "half"
    sign: str = "helping"
    approximation: str = ""  # of the effects, "" where they are exact; known from the results, as what follows
    model: str = ""
    answers: str = ""  # how much of an answer the metric is of; "" for all of it
    named: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Options among "rule" and "min-tasks" that were named: a joint method has defaults of its own."""

    @classmethod
    def parse(
        cls,
        *,
        method: str | None = None,
        positions: str | None = None,
        metric: str | None = None,
        effect: str = "total",
        rule: str | Rule | None = None,
        min_tasks: str | int | None = None,
        sign: str = "helping",
    ) -> "MapSpec":
        """Parse options, as the command line and public functions take them; None is the default."""
        label = Label.parse(method or "")
        if label.name and label.positions and positions not in (None, label.positions):
            raise OptionError(f"method {label} and positions {positions} contradict each other: name one.")
        for option, value, choices in (("effect", effect, EFFECTS), ("sign", sign, SIGNS)):
            if value not in choices:
                raise OptionError(f"{option} must be {' or '.join(map(repr, choices))}; got {value!r}.")
        options = {"rule": rule, "min-tasks": min_tasks}
        named = frozenset(name for name, value in options.items() if value is not None)
        min_tasks = "half" if min_tasks is None else int(min_tasks) if str(min_tasks).isdecimal() else min_tasks
        check_min_tasks(min_tasks)
        judge = fdr() if rule is None else parse_rule(rule)
        at = label.at(positions or label.positions)
        return cls(at, metric or "", effect, judge, min_tasks, sign, named=named)

    def resolve(self, run: RunResults) -> "MapSpec":
        """Complete it for a run: what is not set is the first exact method, its positions, the first metric."""
        label = self.label
        if not label.name:
            if run.default_label is None:
                raise OptionError("These results hold no scored task yet.")
            label = run.default_label.at(label.positions or run.default_label.positions)
        elif not label.positions:
            present = [scored for scored in run.scored if scored.method == label.method]
            label = present[0] if len(present) == 1 else label
        if not self.metric and not run.manifest.plan.metrics:
            raise DataError("The manifest of these results names no metric: name one with --metric (metric=...).")
        answers = run.manifest.plan.answers if run.has_manifest else ""
        return replace(
            self,
            label=label,
            metric=self.metric or run.manifest.plan.metrics[0],
            approximation=run.approximation(label),
            model=run.manifest_or_empty.model.name,
            answers="" if answers == "whole" else answers,
        )

    @property
    def is_asked(self) -> bool:
        """True if any option was named, or is set."""
        return bool(self.named or self.options)

    @property
    def named_rule(self) -> Rule | None:
        """The rule, if it was named."""
        return self.rule if "rule" in self.named else None

    @property
    def named_min_tasks(self) -> int | str | None:
        """`min_tasks`, if it was named."""
        return self.min_tasks if "min-tasks" in self.named else None

    @property
    def options(self) -> dict[str, str]:
        """Options of the command line that are set, without their dashes -> value."""
        return {name: value for name, value in self.flags.items() if value != MapSpec().flags[name]}

    def options_for(self, run: RunResults) -> dict[str, str]:
        """Options that a command on this run needs to give the same map, `method` with its positions."""
        label = self.resolve(run).label
        usual = MapSpec().resolve(run)
        method = {"method": str(label)} if label != usual.label else {}
        return method | {
            name: value
            for name, value in self.options.items()
            if name not in ("method", "positions") and value != usual.flags[name]
        }

    def file_suffix(self, run: RunResults) -> str:
        """Non-default options as the end of a file name, so that outputs never overwrite each other; "" for none."""
        options = self.options_for(run)
        parts = [slug(options[name]) for name in ("method", "metric", "effect") if name in options]
        return "".join(f"-{part}" for part in parts) + self.judging_suffix

    @property
    def judging_suffix(self) -> str:
        """`file_suffix` of the options that do not choose scores: sign, rule and min_tasks."""
        parts = {
            "sign": self.sign,
            "rule": slug("-".join(re.findall(r"[\w.=]+", repr(self.rule)))),
            "min-tasks": f"min_tasks={self.min_tasks}",
        }
        return "".join(f"-{part}" for name, part in parts.items() if name in self.options)

    def state(self, run: RunResults) -> str:
        """`RunResults.state` of the blocks that its scores are made of; task-specific effects need a control's, too."""
        label = self.resolve(run).label
        specific = [other for other in run.scored if run.declarations[str(other)].control_of == label.name]
        return run.state(map(str, [label, *(specific if self.effect == "task_specific" else ())]))

    def evidence_folder(self, run: RunResults, *, ablated: str = "last") -> str:
        """Folder where `hc.run_evidence` saves its test by these scores; heads are `ablated` at "last" or "all"."""
        suffix = MapSpec(self.label, self.metric, self.effect).file_suffix(run)
        return f"{EVIDENCE}{suffix}{'-ablated@all' if ablated == 'all' else ''}"

    @property
    def scores_title(self) -> str:
        """One line on what the scores are of, for figures that no rule has judged."""
        return self._line()

    @property
    def title(self) -> str:
        """One line on what the map shows."""
        least = "half of the tasks" if self.min_tasks == "half" else pluralize(int(self.min_tasks), "task")
        sign = "suppressing heads" if self.sign == "suppressing" else ""
        return self._line(sign, rule=f", rule {self.rule!r} in at least {least}")

    def _line(self, sign: str = "", *, rule: str = "") -> str:
        approximation = approximation_label(self.approximation)
        specific = "task-specific effects" if self.effect == "task_specific" else ""
        marked = "".join(f", {mark}" for mark in (approximation, specific, sign) if mark)
        model = f", model {self.model}" if self.model else ""
        place = f"{',' if marked else ''} at {self.label.positions}"
        # Of the first tokens it is another number; other parts of the plan change which prompts it is measured on.
        answers = f", answers {self.answers}" if self.answers else ""
        return f"{self.label.method}{marked}{place}, {self.metric}{answers}{rule}{model}"

    @property
    def flags(self) -> dict[str, str]:
        """Options of the command line, without their dashes -> value."""
        return {
            "method": self.label.method,
            "positions": self.label.positions,
            "metric": self.metric,
            "effect": self.effect,
            "rule": rule_text(self.rule),
            "min-tasks": str(self.min_tasks),
            "sign": self.sign,
        }


def refuse_unused(options: Iterable[str], *, by: str) -> None:
    """Raise `OptionError` for options (such as `MapSpec.options`) that would change nothing, as `by` reads none."""
    if unused := [f"--{name}" for name in sorted(options)]:
        raise OptionError(f"{by} does not read {' and '.join(unused)}: leave that out.")


def resolve_tested(reading: MapSpec, run: RunResults) -> MapSpec:
    """Complete the reading for a run, with a method whose categories can be tested; an error names those that can."""
    if not run.scored:
        raise DataError("These results hold no scored task, so there is no category to test.")
    causal = [label for label in run.scored if not run.declarations[str(label)].control_of and label.unit == HEAD]
    method = reading.label
    if not method.name and causal:
        return reading.resolve(run)
    matches = [label for label in run.scored if method.name == "" or method in (label, label.at(""))]
    if matches and matches[0] not in causal:
        problem = "is a control: the heads that stand out in it serve no category that could be tested"
        if matches[0].unit != HEAD:
            problem = "is about groups of heads that share keys and values, and here single heads are chosen"
        raise OptionError(
            f"{matches[0]} {problem}. Choose heads by "
            f"{' or '.join(map(str, causal)) or 'another method, which these results do not hold'}."
        )
    if len(matches) > 1:
        raise OptionError(f"These results hold '{method}' as {', '.join(map(str, matches))}: name one of them.")
    if not matches:
        raise UnknownNameError(
            f"These results hold no block of '{method}'; they hold {', '.join(map(str, run.scored))}."
        )
    return replace(reading, label=matches[0]).resolve(run)
