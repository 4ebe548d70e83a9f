from headcats.figures.panels.text import fold, fold_caption


def test_captions_fold_between_words_and_lose_none() -> None:
    parts = ["a word " * 12, "short", "x" * 50]
    lines = fold_caption(parts, width=200)
    assert [word for line in lines for word in line.replace("&nbsp;", " ").split()] == " ".join(parts).split()
    assert len(lines) > 3
    # 200 pixels are room for 30 letters of 12 pixels; a longer word is not cut.
    assert [len(line) for line in lines if len(line) > 30] == [50]
    assert max(len(line) for line in lines if len(line) < 50) == 29


def test_a_name_folds_between_words_and_long_words_are_cut() -> None:
    assert fold("Syntactic Understanding", width=300, size=14) == ["Syntactic Understanding"]
    assert fold("Syntactic Understanding", width=120, size=14) == ["Syntactic", "Understanding"]
    assert fold("Decision-making", width=60, size=14) == ["Decisi…"]
