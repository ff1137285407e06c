"""The catalog is read once, and what is wrong with it is named."""

import tomllib

import pytest

from recoup.data.catalog import CATALOG, entries, read_catalog
from recoup.data.entry import Download, Entry, Package, Source, Task
from recoup.exceptions import InvalidInputError

PLAIN = """
[frogs]
title = "Frogs"
kind = "table"
rows = 30
features = 4
classes = { green = 10, brown = 20 }
tasks = [{ name = "green-vs-rest", positive = ["green"] }]
citation = "Frog (2020)"
licence = "CC0"
"""


@pytest.fixture
def catalog(tmp_path):
    def write(text):
        (tmp_path / "catalog.toml").write_text(text)
        return tmp_path / "catalog.toml"

    return write


def test_one_table_makes_a_dataset(catalog):
    more = """
file = "frogs.parquet"
digest = "aa"
parts = [20, 10]
coded = ["pond"]
source = { client = "openml", name = "frogs", id = 7, rename = { no = "meta_no" } }
download = { url = "https://frogs.example/", files = { "frogs.parquet" = "sha256:bb" } }
package = { name = "frogs", version = "1.0.0" }
"""
    assert read_catalog(catalog(PLAIN + more)) == {
        "frogs": Entry(
            "frogs",
            "Frogs",
            "table",
            30,
            4,
            {"green": 10, "brown": 20},
            (Task("green-vs-rest", ("green",)),),
            "Frog (2020)",
            "CC0",
            file="frogs.parquet",
            digest="aa",
            parts=(20, 10),
            coded=("pond",),
            source=Source("openml", "frogs", 7, rename={"no": "meta_no"}),
            download=Download("https://frogs.example/", {"frogs.parquet": "sha256:bb"}),
            package=Package("frogs", "1.0.0"),
        )
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "table"', 'kind = "sound"', "frogs.kind: Input should be 'table'"),
        ("rows = 30", 'rows = "30"', "frogs.rows: Input should be a valid integer"),
        ("rows = 30", "rowz = 30", "frogs.rowz: Unexpected keyword"),
        ("rows = 30\n", "", "frogs.rows: Field required"),
        ('positive = ["green"]', "positiv = []", "frogs.tasks.0.positiv: Unexpected"),
        (
            'positive = ["green"]',
            'positive = "green"',
            "frogs.tasks.0.positive: Input should be a valid",
        ),
        ("brown = 20", "brown = 21", "classes have 31 rows together, not 30"),
        ('licence = "CC0"', 'licence = "CC0"\nparts = [1, 2]', "parts have 3 rows together"),
        ('licence = "CC0"', 'licence = "CC0"\nfile = "a.npz"', "a file needs a digest"),
        ('licence = "CC0"', 'licence = "CC0"\ndigest = "aa"', "and a digest a file"),
        ('["green"]', '["blue"]', "task 'green-vs-rest' names 'blue', which is no class"),
        ('["green"]', '["green"], rule = "> 3"', "needs positive or rule, one of them"),
        ("tasks = [{ name", "tasks = []\n#", "it has no task"),
    ],
)
def test_a_wrong_field_is_named(old, new, message, catalog):
    assert old in PLAIN
    with pytest.raises(InvalidInputError) as caught:
        read_catalog(catalog(PLAIN.replace(old, new)))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_file_holds_all_datasets_in_order():
    assert list(entries()) == list(tomllib.loads(CATALOG.read_text()))
    assert len(entries()) == 45
    unread = [name for name, entry in entries().items() if entry.file and not entry.digest]
    assert unread == ["covertype"]
    for entry in entries().values():
        assert len(entry.digest) in (0, 64)
        assert entry.citation
        assert entry.licence
