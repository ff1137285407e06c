"""Pictures of benchmarks draw what they are given, and nothing lies on anything else."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from recoup.bench.plots import (
    label_frequency_display,
    mechanism_display,
    radar_display,
    trade_off_display,
)
from recoup.bench.ranking import rank_learners
from recoup.exceptions import InvalidInputError
from recoup.plot.bench import (
    CriticalDifferenceDisplay,
    LabelFrequencyDisplay,
    MechanismDisplay,
    RadarDisplay,
    RankDisplay,
    TradeOffDisplay,
)

NAMES = ("dist-pu", "nnpu", "upu")
C = np.array([0.01, 0.1, 0.5])
RANKS = np.array([1.2, 1.9, 2.9])
LINES = {name: C**0.1 - 0.1 * place for place, name in enumerate(NAMES)}


def displays():
    return {
        "critical difference": CriticalDifferenceDisplay(
            names=NAMES, ranks=RANKS, critical_difference=0.8, cliques=[(0, 1)], name="accuracy"
        ),
        "ranks": RankDisplay(names=NAMES, ranks=RANKS, lower=RANKS - 0.2, upper=RANKS + 0.1),
        "label frequency": LabelFrequencyDisplay(
            label_frequencies=C, values=LINES, lower=LINES, upper=LINES, name="F1"
        ),
        "mechanisms": MechanismDisplay(
            names=NAMES,
            mechanisms=("scar", "s2"),
            bars=np.array([[0.5, 0.6, 0.7], [0.4, np.nan, 0.6]]),
            errors=np.full((2, 3), 0.05),
            marks=np.full((2, 3), 0.9),
            bars_name="c = 0.05",
            marks_name="c = 0.5",
            shaded=[1],
        ),
        "trade-off": TradeOffDisplay(
            names=NAMES,
            seconds=np.array([1.0, 30.0, 200.0]),
            values=np.array([0.7, 0.9, 0.8]),
            memory=np.array([1e9, 4e9, np.nan]),
        ),
        "radar": RadarDisplay(
            metrics=("accuracy", "recall", "F1", "AUC"),
            values={"nnpu": np.array([0.8, 0.6, np.nan, 0.9]), "upu": np.full(4, 0.7)},
            name="wine",
        ),
    }


KINDS = tuple(displays())


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("kind", KINDS)
def test_displays_keep_what_they_drew(kind):
    display = displays()[kind]
    ax = Figure().subplots()
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.line_.axes is ax
    display.figure_.draw_without_rendering()


@pytest.mark.parametrize("kind", KINDS)
def test_displays_make_their_own_axes(kind):
    display = displays()[kind].plot()
    assert display.figure_ is plt.gcf()
    display.figure_.draw_without_rendering()


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_text(kind):
    display = displays()[kind]
    odd = ("_hidden", "a $\\frac{1}$ <b>", "x" * 300)
    if isinstance(display, LabelFrequencyDisplay):
        display.values = dict(zip(odd, LINES.values(), strict=True))
        display.lower = display.upper = None
    elif isinstance(display, RadarDisplay):
        display.values = {name: np.full(4, 0.5) for name in odd}
    else:
        display.names = odd
    display.plot().figure_.draw_without_rendering()
    shown = " ".join(text.get_text() for text in display.figure_.findobj(mpl.text.Text))
    assert "_hidden" in shown
    assert r"a \$\frac{1}\$ <b>" in shown
    assert "x" * 100 not in shown


def test_ranks_and_bars_lie_where_they_are_told():
    display = displays()["critical difference"].plot()
    dots = [line for line in display.ax_.lines if line.get_marker() == "o"]
    assert [line.get_xdata()[0] for line in dots] == RANKS.tolist()
    (bar,) = [line for line in display.ax_.lines if line.get_linewidth() == 3.5]
    ends = bar.get_xdata()
    assert ends[0] < RANKS[0] < RANKS[1] < ends[1] < RANKS[2]
    (scale,) = [line for line in display.ax_.lines if line.get_marker() == "|"]
    assert np.ptp(scale.get_xdata()) == pytest.approx(0.8)


def test_no_difference_draws_no_scale():
    display = CriticalDifferenceDisplay(names=NAMES[:1], ranks=RANKS[:1]).plot()
    assert not [line for line in display.ax_.lines if line.get_marker() == "|"]
    display.figure_.draw_without_rendering()


@pytest.mark.parametrize("n", [2, 7, 18, 24])
def test_names_in_the_diagram_do_not_overlap(n):
    rng = np.random.default_rng(n)
    display = CriticalDifferenceDisplay(
        names=[f"learner-with-a-name-{k}" for k in range(n)],
        ranks=np.sort(rng.uniform(1, n, n)),
        critical_difference=n / 2,
        cliques=[(0, n // 2), (n // 2, n - 1)],
    ).plot()
    figure = display.figure_
    figure.draw_without_rendering()
    boxes = [text.get_window_extent().padded(-1) for text in display.ax_.texts]
    for box, other in itertools.combinations(boxes, 2):
        assert not box.overlaps(other)
    for box in boxes:
        assert figure.bbox.contains(box.x0, box.y0)
        assert figure.bbox.contains(box.x1, box.y1)


@pytest.mark.parametrize("kind", ["label frequency", "mechanisms", "trade-off", "radar"])
def test_legends_cover_nothing(kind):
    display = displays()[kind].plot()
    display.figure_.draw_without_rendering()
    ax = display.ax_
    legend = ax.get_legend().get_window_extent().padded(-1)
    shown = list(ax.texts)
    if ax.axison:
        assert not legend.overlaps(ax.get_window_extent().padded(-1))
        shown += [ax.xaxis.label, *ax.get_xticklabels()]
    for text in filter(lambda text: text.get_text(), shown):
        assert not legend.overlaps(text.get_window_extent().padded(-1)), text.get_text()


def test_lines_are_told_apart():
    lines = {f"learner {k}": C + k for k in range(24)}
    display = LabelFrequencyDisplay(label_frequencies=C, values=lines).plot()
    looks = {(line.get_color(), str(line._unscaled_dash_pattern)) for line in display.ax_.lines}
    assert len(looks) == 24


def test_mechanisms_are_drawn_as_given():
    display = displays()["mechanisms"].plot()
    bars, marks = display.ax_.containers[0], display.ax_.lines
    assert [bar.get_height() for bar in bars] == [0.5, 0.6, 0.7]
    assert any(np.array_equal(line.get_ydata(), [0.9, 0.9, 0.9]) for line in marks)
    (shade,) = [patch for patch in display.ax_.patches if patch.get_width() == 1.0]
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == (0.5, 1.5)


def test_corners_of_the_radar():
    display = displays()["radar"].plot()
    x, y = display.line_.get_data()
    assert np.hypot(x, y) == pytest.approx(np.full(5, 0.7))
    assert (x[0], y[0]) == pytest.approx((0, 0.7))
    lifted = RadarDisplay(metrics=("a", "b", "c"), values={"nnpu": np.array([0.4, 0.75, 2.0])})
    lifted.low = 0.5
    assert np.hypot(*lifted.plot().line_.get_data())[:3] == pytest.approx((0, 0.5, 1))


def rows():
    rng = np.random.default_rng(0)
    for learner, mechanism, c, seed in itertools.product(
        ("lbe", "nnpu", "upu"), ("s2", "scar"), (0.05, 0.1, 0.5), range(3)
    ):
        yield {
            "dataset": "wine",
            "scheme": "case-control",
            "mechanism": mechanism,
            "label_frequency": c,
            "noise": 0.0,
            "learner": learner,
            "key": learner,
            "family": "risk",
            "seed": seed,
            "protocol": "honest",
            "status": "done",
            "reason": None,
            **{name: float(rng.random()) for name in ("accuracy", "precision", "recall", "f1")},
            "roc_auc": 0.9,
            "seconds": 2.0 + seed,
            "peak_memory": 10**9,
            "peak_gpu_memory": None,
        }


def test_curves_over_label_frequency_are_means_and_deviations():
    chosen = [row for row in rows() if row["mechanism"] == "scar"]
    display = label_frequency_display(chosen, "wine", "f1")
    assert display.label_frequencies.tolist() == [0.05, 0.1, 0.5]
    values = [row["f1"] for row in chosen
              if row["learner"] == "upu" and row["label_frequency"] == 0.1]  # fmt: skip
    assert display.values["upu"][1] == pytest.approx(np.mean(values))
    assert display.upper["upu"][1] == pytest.approx(np.mean(values) + np.std(values, ddof=1))
    display.plot().figure_.draw_without_rendering()


def test_mechanisms_start_with_labels_at_random_and_shade_what_is_made_for_others():
    display = mechanism_display(rows(), "wine", few=0.05, many=0.5)
    assert display.mechanisms == ["scar", "s2"]
    assert display.names[display.shaded[0]] == "lbe"
    values = [
        row["f1"]
        for row in rows()
        if (row["learner"], row["mechanism"], row["label_frequency"]) == ("upu", "s2", 0.5)
    ]
    assert display.marks[1, 2] == pytest.approx(np.mean(values))
    display.plot().figure_.draw_without_rendering()


def test_costs_and_profiles_are_means():
    display = trade_off_display(rows(), "wine", learners=["nnpu", "upu"])
    assert display.names == ("nnpu", "upu")
    assert display.seconds.tolist() == [3.0, 3.0]
    display.plot().figure_.draw_without_rendering()
    unknown = trade_off_display(rows(), "wine", memory="peak_gpu_memory")
    assert np.isnan(unknown.memory).all()
    unknown.plot().figure_.draw_without_rendering()
    radar = radar_display(rows(), "wine")
    assert radar.metrics == ["accuracy", "precision", "recall", "F1", "AUC"]
    assert radar.values["upu"][4] == pytest.approx(0.9)
    radar.plot().figure_.draw_without_rendering()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: label_frequency_display(rows(), "wine"), "rows of one mechanism"),
        (lambda: label_frequency_display(rows(), "whine"), "Did you mean 'wine'"),
        (lambda: radar_display(rows(), "wine", learners=["uppu"]), "Did you mean 'upu'"),
        (lambda: mechanism_display(rows(), "wine", few=0.2), r"have \[0.05, 0.1, 0.5\]"),
        (lambda: radar_display(rows(), "wine", protocol="oracle"), "protocols found: honest"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, says):
    with pytest.raises(InvalidInputError, match=says):
        call()


def test_standings_draw_themselves():
    standing = rank_learners(rows(), block="cell")
    diagram = standing.plot(Figure().subplots())
    assert diagram.ranks.tolist() == [item.rank for item in standing.ranks]
    intervals = standing.plot_ranks(Figure().subplots())
    assert intervals.lower.tolist() == [item.lower for item in standing.ranks]
