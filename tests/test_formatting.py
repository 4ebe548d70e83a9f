"""Numbers as people say them."""

from for_each import for_each

from headcats.base.errors import about, format_duration


@for_each(
    "seconds,text",
    [
        (0.0, "under 0.1 s"),
        (0.04, "under 0.1 s"),
        (0.05, "0.1 s"),
        (3.14, "3.1 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (80.0, "80 s"),
        (120.0, "2 min"),
        (300.0, "5 min"),
        (9000.0, "2.5 h"),
    ],
)
def test_times_are_as_exact_as_people_say_them(seconds, text):
    assert format_duration(seconds) == text


def test_no_estimate_is_about_under_something():
    assert about(3.14) == "about 3.1 s"
    assert about(0.01) == "under 0.1 s"
