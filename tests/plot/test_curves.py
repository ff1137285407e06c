"""Displays draw what they are given, wherever they are told to."""

import subprocess
import sys
from dataclasses import fields

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import recoup
from recoup.plot import (
    CalibrationDisplay,
    EvaluationDisplay,
    LiftDisplay,
    MetricDisplay,
    PrDisplay,
    RocDisplay,
    SensitivityDisplay,
)

X = np.array([0.0, 0.2, 0.5, 1.0])
Y = np.array([0.0, 0.6, 0.9, 1.0])
T = np.array([np.inf, 3.0, 2.0, 1.0])
DISPLAYS = [
    RocDisplay(fpr=X, tpr=Y),
    RocDisplay(fpr=X, tpr=Y, lower=Y / 2, upper=Y, name="model"),
    PrDisplay(recall=X, precision=Y, pi=0.3, lower=X, upper=Y, band_x=X),
    LiftDisplay(positive_rate=X, tpr=Y, pi=0.3, bound_lower=X, bound_upper=Y),
    MetricDisplay(threshold=T, values=Y, best_threshold=2.0, name="F1"),
    MetricDisplay(threshold=T, values=Y, best_threshold=np.inf),
    SensitivityDisplay(alphas=X[:3], values={"AUC": Y[:3]}, alpha=0.1, alpha_upper=0.4),
    SensitivityDisplay(
        alphas=X[:3],
        values={"a": Y[:3], "b": X[:3]},
        alpha=0.15,
        alpha_upper=0.4,
        alpha_interval=(0.1, 0.2),
        name="AUC",
    ),
    CalibrationDisplay(mean_score=X, positive_share=Y),
]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def evaluation():
    example = recoup.load_example()
    scores = example.scores["score_boosting"]
    return recoup.evaluate(example.s, scores, alpha=example.alpha, threshold="f1", n_boot=200)


@pytest.fixture(scope="module")
def audited():
    example = recoup.load_example()
    scores = example.scores["score_boosting"]
    plan = recoup.audit.plan(example.s, scores, threshold=0.02, budget=120, n_waves=1)
    audit = plan.answers(plan.rows, example.y_true[plan.rows])
    return recoup.evaluate(example.s, scores, audit=audit, n_boot=200)


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: type(display).__name__)
def test_displays_keep_what_they_drew(display):
    ax = Figure().subplots()
    assert display.plot(ax=ax, linewidth=3.5) is display
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.line_ in ax.lines
    assert display.line_.get_linewidth() == 3.5
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    display.figure_.draw_without_rendering()


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: type(display).__name__)
def test_displays_make_their_own_axes(display):
    display.plot()
    assert display.figure_ is plt.gcf()


def test_displays_draw_the_given_numbers():
    line = RocDisplay(X, Y).plot(ax=Figure().subplots()).line_
    assert np.array_equal(line.get_xydata(), np.column_stack([X, Y]))
    line = MetricDisplay(T, Y).plot(ax=Figure().subplots()).line_
    assert np.array_equal(line.get_xydata(), np.column_stack([T, Y])[1:])


def test_bands_lie_where_they_are_given():
    grid = np.linspace(0, 1, 11)
    ax = Figure().subplots()
    RocDisplay(X, Y, lower=grid / 2, upper=grid, band_x=grid).plot(ax=ax)
    corners = ax.collections[0].get_paths()[0].vertices
    for x in grid:
        heights = corners[np.isclose(corners[:, 0], x), 1]
        assert heights.min() == pytest.approx(x / 2)
        assert heights.max() == pytest.approx(x)


@pytest.mark.parametrize("name", ["a $\\frac{1}$ b", "$", "_hidden", "[x]", "<b>", "50% {x}"])
def test_names_are_text_and_never_hidden(name):
    display = RocDisplay(X, Y, name=name).plot(ax=Figure().subplots())
    display.figure_.draw_without_rendering()
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert name in [text.strip().replace(r"\$", "$") for text in shown]


def test_results_draw_themselves(evaluation):
    example = recoup.load_example()
    options = {"alpha": example.alpha}
    scores = example.scores["score_boosting"]
    for curve in (
        recoup.metrics.roc_curve(example.s, scores, **options),
        recoup.metrics.pr_curve(example.s, scores, **options),
        recoup.metrics.lift_curve(example.s, scores, **options),
        recoup.metrics.metric_curve("f1", example.s, scores, **options),
        recoup.metrics.calibration_curve(example.s, scores, **options),
        evaluation.sensitivity(),
    ):
        assert curve.plot(ax=Figure().subplots()).line_ is not None
    assert evaluation.plot().figure_ is plt.gcf()


def test_evaluation_display_has_four_labelled_panels(evaluation):
    display = EvaluationDisplay.from_evaluation(evaluation).plot(Figure(layout="constrained"))
    assert set(display.axes_) == {"roc", "pr", "threshold", "alpha"}
    for ax in display.axes_.values():
        assert ax.get_title(loc="left")
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        assert ax.get_legend() is not None


def test_the_naive_curve_lies_beside_the_recovered_one(evaluation):
    display = EvaluationDisplay.from_evaluation(evaluation).plot(Figure(layout="constrained"))
    naive, recovered = display.naive_roc.line_, display.roc.line_
    assert naive.get_linestyle() == "--"
    area = {line: np.trapezoid(line.get_ydata(), line.get_xdata()) for line in (naive, recovered)}
    assert area[naive] == pytest.approx(evaluation["roc_auc"].pu, abs=1e-9)
    assert area[recovered] == pytest.approx(evaluation["roc_auc"].recovered, abs=1e-9)


def test_the_audited_curves_lie_beside_the_recovered_ones(audited):
    display = EvaluationDisplay.from_evaluation(audited).plot(Figure(layout="constrained"))
    curve, band = display.audited_roc.line_, audited.audit.roc_band
    area = np.trapezoid(curve.get_ydata(), curve.get_xdata())
    assert area == pytest.approx(audited.audit["roc_auc"].audited, abs=0.002)
    np.testing.assert_array_equal(display.audited_pr.line_.get_ydata(), audited.audit.pr.precision)
    np.testing.assert_array_equal(display.audited_roc.upper, band.upper)
    assert "by labels alone" in display.axes_["threshold"].get_ylabel()
    names = [text.get_text() for text in display.axes_["roc"].get_legend().get_texts()]
    assert any(name.startswith("Audited with 95% band, AUC 0.9") for name in names)


@pytest.mark.parametrize("name", ["evaluation", "audited"])
def test_nothing_overlaps(name, request):
    figure = Figure(figsize=(11.0, 10.0), layout="constrained")
    display = EvaluationDisplay.from_evaluation(request.getfixturevalue(name)).plot(figure)
    figure.draw_without_rendering()
    boxes = []
    for ax in display.axes_.values():
        legend = ax.get_legend().get_window_extent()
        title = ax._left_title.get_window_extent()
        labels = [ax.xaxis.label.get_window_extent(), ax.yaxis.label.get_window_extent()]
        boxes += [ax.get_window_extent(), legend, title, *labels]
    # Shrunk by a pixel: neighbours may touch.
    boxes = [box.padded(-1) for box in boxes]
    for place, box in enumerate(boxes):
        assert box.count_overlaps(boxes[place + 1 :]) == 0
        assert figure.bbox.padded(1).contains(box.x0, box.y0)
        assert figure.bbox.padded(1).contains(box.x1, box.y1)


def test_an_evaluation_without_bands_and_with_a_range_of_alpha_draws():
    rng = np.random.default_rng(0)
    s = (np.arange(500) < 100).astype(int)
    result = recoup.evaluate(s, 1000 * rng.normal(s), alpha=(0.1, 0.2), n_boot=0)
    figure = EvaluationDisplay.from_evaluation(result).plot(Figure(layout="constrained")).figure_
    figure.draw_without_rendering()


def test_one_score_for_all_rows_draws():
    result = recoup.evaluate([1] * 40 + [0] * 200, [0.5] * 240, alpha=0.1, n_boot=50)
    figure = EvaluationDisplay.from_evaluation(result).plot(Figure(layout="constrained")).figure_
    figure.draw_without_rendering()


def test_a_range_of_alpha_is_drawn_as_a_band():
    def spans(interval):
        display = SensitivityDisplay(X, {"a": Y, "b": X}, 0.15, 1.0, alpha_interval=interval)
        ax = display.plot(ax=Figure().subplots()).ax_
        shown = {text.get_text() for text in ax.get_legend().get_texts()}
        return [(span.get_x(), span.get_x() + span.get_width()) for span in ax.patches], shown

    drawn, shown = spans((0.1, 0.2))
    assert drawn == [pytest.approx((0.1, 0.2))]
    assert "Range used (0.1 to 0.2)" in shown
    drawn, shown = spans(None)
    assert drawn == []
    assert "Used here (0.15)" in shown


def test_displays_work_where_there_is_no_display():
    code = (
        "import numpy as np; from recoup.plot import RocDisplay; "
        "RocDisplay(np.array([0, 1]), np.array([0, 1])).plot().figure_.savefig('/dev/null',"
        "format='png')"
    )
    environment = {"PATH": "/usr/bin", "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=environment)


def test_importing_displays_leaves_matplotlib_out():
    code = "import sys, recoup.plot; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_colors_stay_apart_without_red_or_green():
    from recoup.plot.curves import CYCLE

    # Viénot et al. 1999: how red-blind and green-blind readers see a color, in linear RGB.
    deuteranope = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])
    protanope = np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]])
    colors = np.array([mpl.colors.to_rgb(color) for color in CYCLE[:4]]) ** 2.2
    for seen_by in (np.eye(3), deuteranope, protanope):
        seen = np.clip(colors @ seen_by.T, 0, 1) ** (1 / 2.2)
        gaps = np.abs(seen[:, None] - seen[None]).sum(-1)[np.triu_indices(len(seen), 1)]
        assert gaps.min() > 0.2


def test_displays_are_made_by_keyword_as_results_do():
    for display in DISPLAYS:
        given = {item.name: getattr(display, item.name) for item in fields(display) if item.init}
        type(display)(**given)
