"""Forest plots draw what they are given."""

import numpy as np
from matplotlib.figure import Figure

from recoup.plot import ForestDisplay
from recoup.plot.groups import MOST_SHOWN


def display(n):
    values = np.linspace(0.2, 0.8, n)
    return ForestDisplay(
        [f"group_{i} $x$" for i in range(n)],
        *(values, values - 0.1, values + 0.1, np.full(n, 0.5)),
        (0.5, 0.45, 0.55),
        "Precision",
    )


def test_every_group_is_a_line_with_its_point():
    drawn = display(5).plot(Figure())
    lines, points = drawn.ax_.collections
    assert np.allclose(points.get_offsets()[:, 0], np.linspace(0.2, 0.8, 5))
    assert lines.get_segments()[0][:, 0].tolist() == [0.2 - 0.1, 0.2 + 0.1]
    assert drawn.ax_.get_yticklabels()[0].get_text() == r"group_0 \$x\$"
    assert drawn.figure_ is drawn.ax_.figure


def test_of_many_groups_the_ends_are_drawn():
    drawn = display(500).plot()
    points = drawn.ax_.collections[1].get_offsets()[:, 0]
    assert len(points) == MOST_SHOWN
    assert points.min() == 0.2
    assert points.max() == 0.8
    assert "500 groups" in drawn.ax_.get_title()
