from headcats.figures.prompt_roles import explained_prompt_roles


def test_kinds_of_roles_are_explained_once_with_the_names_that_are_there() -> None:
    roles = ["bos", "x1", "between1", "y1", "after1", "x2", "between2", "y2", "after2[0/2]", "after2[1/2]"]
    assert explained_prompt_roles([*roles, "x3", "x_query", "between_query"]) == [
        "bos: start of the text",
        "x1 … x3: input of a demonstration",
        "between1, between2: text between its input and output",
        "y1, y2: output of a demonstration",
        "after1, after2: text behind it",
        "x_query: the query, whose output is asked for",
        "between_query: text behind the query, where the answer is read",
    ]


def test_other_roles_are_left_to_their_names() -> None:
    assert explained_prompt_roles(["bos", "other", "last_q", "exact_answer_first", "-1", "y", "x"]) == []
    assert explained_prompt_roles(["before1", "before_query", "other"]) == [
        "before1: text in front of a demonstration",
        "before_query: text in front of the query",
        "other: text of no role",
    ]
