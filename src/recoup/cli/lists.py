"""``recoup list``: what there is to choose from."""

from __future__ import annotations

from recoup.cli._options import AsJson
from recoup.cli._output import make_table, plain, print_json, stdout

# Datasets whose reported figures are shown; the others are in the JSON.
SHOWN = ("mnist", "spambase")


def datasets(as_json: AsJson = False) -> None:
    """List the named datasets, their tasks, and whether they are at hand."""
    from recoup.data import list_datasets

    rows = list_datasets()
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    headings = ("Name", "Title", "Kind", "Rows", "Features", "Tasks", "Available")
    table = make_table(headings, ("Rows", "Features"))
    for column in table.columns:
        # A name cut short could not be loaded.
        column.overflow = "fold"
    for row in rows:
        size = (f"{row.rows:,}", f"{row.features:,}")
        cells = (row.name, row.title, row.kind, *size, ", ".join(row.tasks), row.available)
        table.add_row(*map(plain, cells))
    console = stdout()
    if not console.is_terminal:
        # In a file or a pipe no line needs to be broken.
        console.width = 400
    console.print(table)


def metrics(as_json: AsJson = False) -> None:
    """List the metrics that can be recovered; evaluate gives all of them but fbeta."""
    import recoup.metrics  # noqa: F401  registers them
    from recoup._core.results import to_plain
    from recoup.metrics.spec import KINDS, specs

    if as_json:
        print_json([to_plain(spec.described()) for spec in specs()])
        return
    table = make_table(("Metric", "Of", "Best", "Source"))
    for spec in specs():
        best = "highest" if spec.higher_is_better else "lowest"
        table.add_row(spec.key, KINDS[spec.kind], best, spec.source)
    stdout().print(table)


def learners(as_json: AsJson = False) -> None:
    """List the learners: the keys for learners.make and for plans."""
    from dataclasses import asdict

    from recoup._core.registry import registered
    from recoup.learners.reported import reported_accuracies

    rows = [asdict(cls.tags) for cls in registered("learners").values()]
    for row in rows:
        reported = reported_accuracies()
        row["reported"] = reported.get(row["key"], reported.get(f"{row['key']}-e", {}))
    if as_json:
        print_json(rows)
        return
    headings = ("Key", "Family", "Alpha", "Designs", "Labels", "Backend", "Cost", "Source")
    table = make_table((*headings, "PU-Bench: MNIST, Spambase"))
    for column in table.columns:
        # A key cut short could not be passed on.
        column.overflow = "fold"
    for row in rows:
        alpha = "needs" if row["needs_alpha"] else "estimates" if row["estimates_alpha"] else "-"
        about = (row["family"], alpha, ", ".join(row["schemes"]), row["selection"])
        figures = [f"{row['reported'][name]:.1f}" for name in SHOWN if name in row["reported"]]
        cells = (
            row["key"],
            *about,
            row["backend"],
            row["cost"],
            row["source"],
            ", ".join(figures) or "-",
        )
        table.add_row(*map(plain, cells))
    console = stdout()
    if not console.is_terminal:
        # In a file or a pipe no line needs to be broken.
        console.width = 400
    console.print(table)


def priors(as_json: AsJson = False) -> None:
    """List the estimators of alpha: the keys for --method and --prior-method."""
    from dataclasses import asdict

    from recoup._core.registry import registered

    rows = [asdict(cls.tags) for cls in registered("priors").values()]
    if as_json:
        print_json(rows)
        return
    headings = ("Key", "Reads", "Finds beta", "Labels", "Assumes", "Cost", "Source")
    table = make_table(headings)
    for column in table.columns:
        # A key cut short could not be passed on.
        column.overflow = "fold"
    for row in rows:
        beta = "yes" if row["finds_beta"] else "no"
        cells = (row["key"], row["reads"], beta, row["selection"])
        table.add_row(*map(plain, (*cells, row["assumes"], row["cost"], row["source"])))
    console = stdout()
    if not console.is_terminal:
        # In a file or a pipe no line needs to be broken.
        console.width = 400
    console.print(table)
