from headcats.prompts.role_meanings import explained_prompt_roles


def explained(roles: list[str]) -> list[str]:
    """The roles of every part, each of which goes on with what they mean."""
    parts = explained_prompt_roles(roles)
    assert all(len(part.partition(": ")[2].split()) > 1 for part in parts)
    return [part.partition(": ")[0] for part in parts]


def test_kinds_of_roles_are_explained_once_with_the_names_that_are_there() -> None:
    roles = ["bos", "x1", "between1", "y1", "after1", "x2", "between2", "y2", "after2[0/2]", "after2[1/2]"]
    assert explained([*roles, "x3", "x_query", "between_query"]) == [
        "bos", "x1 … x3", "between1, between2", "y1, y2", "after1, after2", "x_query", "between_query",
    ]  # fmt: skip
    input_of, output_of = (part.partition(": ")[2] for part in explained_prompt_roles(["x1", "y1"]))
    assert (input_of.split()[0], output_of.split()[0]) == ("input", "output")


def test_other_roles_are_left_to_their_names() -> None:
    assert explained(["bos", "other", "last_q", "exact_answer_first", "-1", "y", "x"]) == []
    assert explained(["before1", "before_query", "other"]) == ["before1", "before_query", "other"]
