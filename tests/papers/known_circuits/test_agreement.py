"""The suite `agreement`: the number of the subject decides, that of the attractor does not."""

from for_each import for_each

from headcats.tasks.definition import table_pairs
from headcats.tasks.suites import suite

TASKS = {task.name: task for task in suite("agreement").tasks}
PLURALS = {*dict(table_pairs("nouns", "english", "plural")).values()}
PLURALS |= {*dict(table_pairs("animals", "english", "plural")).values()}
FORMS = {"is": "are", "was": "were", "has": "have"}


@for_each("name", TASKS)
def test_the_verb_agrees_with_the_subject(name):
    numbers = set()
    for pair in TASKS[name].pairs(300, seed=0):
        subjects = [
            text[slice(*span)] for text, span in zip((pair.clean, pair.corrupted), pair.roles["subject"], strict=True)
        ]
        is_plural = subjects[0] in PLURALS
        assert (subjects[1] in PLURALS) != is_plural
        singular, plural = (pair.distractor, pair.answer) if is_plural else (pair.answer, pair.distractor)
        singular, plural = singular.split()[0], plural.split()[0]
        assert plural == FORMS.get(singular, singular.removesuffix("s"))
        attractors = [
            text[slice(*span)] for text, span in zip((pair.clean, pair.corrupted), pair.roles["attractor"], strict=True)
        ]
        assert attractors[0] == attractors[1]
        assert pair.clean.endswith(attractors[0])
        differs = (attractors[0] in PLURALS) != is_plural
        assert pair.distractor_task == ("attractor differs" if differs else "attractor alike")
        numbers.add((is_plural, differs))
    assert len(numbers) == 4


def test_be_and_have_stand_in_tasks_of_their_own():
    answers = {name: {pair.answer.strip() for pair in task.pairs(200, seed=0)} for name, task in TASKS.items()}
    assert answers["agree_present"] == {"is", "are"}
    assert answers["agree_past"] == {"was", "were"}
    assert answers["agree_perfect"] == {"has", "have"}
    assert len(answers["agree_verbs"]) > 60
