"""Real downloads from a server on this machine: whole, damaged, cut short, or not at all."""

import gzip
import hashlib
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import sklearn.datasets

from recoup.data import fetch, load
from recoup.data.catalog import entries
from recoup.data.content import content_digest
from recoup.data.decoding import decode_idx, read_images, read_tabular
from recoup.data.entry import Download
from recoup.exceptions import InvalidInputError

TABLE = fetch.BUNDLED / "abalone.parquet"
ROWS = 4177
SOURCE = entries()["abalone"].source


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.fixture
def server():
    """Serve ``files``; ``cut`` says how many bytes to send instead of all, the next few times."""
    files, cut, asked = {}, [], []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.lstrip("/")
            asked.append(name)
            if name not in files:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(files[name])))
            self.end_headers()
            self.wfile.write(files[name][: cut.pop(0) if cut else None])

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{served.server_port}/"
        yield SimpleNamespace(url=url, files=files, cut=cut, asked=asked)
        served.shutdown()


@pytest.fixture
def place(monkeypatch, tmp_path, no_tables):
    """An empty cache, no waiting between attempts, and entries that can be changed."""
    monkeypatch.delenv("RECOUP_DATA", raising=False)
    monkeypatch.setenv("RECOUP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)

    def change(name, **fields):
        known = {**entries(), name: replace(entries()[name], **fields)}
        monkeypatch.setattr("recoup.data.catalog.entries", lambda: known)
        return known[name]

    return SimpleNamespace(cache=tmp_path / "cache", change=change, patch=monkeypatch)


@pytest.fixture
def table(server, place):
    """The table of a dataset, on the server alone."""
    content = TABLE.read_bytes()
    server.files["abalone.parquet"] = content
    files = {"abalone.parquet": sha256(content)}
    place.change("abalone", source=None, download=Download(server.url, files))
    return content


def left(place):
    return sorted(str(p.relative_to(place.cache)) for p in place.cache.rglob("*") if p.is_file())


def test_a_table_is_downloaded_once(table, server, place):
    assert len(load("abalone")) == ROWS
    assert len(load("abalone")) == ROWS
    assert server.asked == ["abalone.parquet"]
    assert left(place) == ["abalone.parquet"]
    assert (place.cache / "abalone.parquet").read_bytes() == table


def test_other_bytes_than_promised_are_refused_and_not_kept(table, server, place):
    server.files["abalone.parquet"] = table[:-1] + b"!"
    with pytest.raises(InvalidInputError, match=r"load needs abalone.parquet.*does not match"):
        load("abalone")
    assert len(server.asked) == 1 + fetch.RETRIES
    assert left(place) == []
    server.files["abalone.parquet"] = table
    assert len(load("abalone")) == ROWS


def test_other_values_than_promised_are_refused(table, server, place):
    place.change(
        "abalone",
        source=None,
        digest="0" * 64,
        download=Download(server.url, {"abalone.parquet": sha256(table)}),
    )
    with pytest.raises(InvalidInputError, match=r"values of the catalog .*load then fetches it"):
        load("abalone")


def test_an_interrupted_download_is_tried_again(table, server, place):
    server.cut[:] = [1000, 0]
    assert len(load("abalone")) == ROWS
    assert len(server.asked) == 3
    assert left(place) == ["abalone.parquet"]


def test_a_download_that_is_always_interrupted_leaves_nothing(table, server, place):
    server.cut[:] = [1000] * 3
    with pytest.raises(InvalidInputError) as caught:
        load("abalone")
    assert server.url in str(caught.value)
    assert "\n" not in str(caught.value)
    assert left(place) == []


@pytest.mark.parametrize("reason", ["not there", "server down"])
def test_a_server_that_has_nothing_is_named(reason, table, server, place):
    url = server.url
    if reason == "not there":
        server.files.clear()
    else:
        url = "http://127.0.0.1:9/"  # nobody listens to the port of "discard"
        place.change("abalone", source=None, download=Download(url, {"a.parquet": "md5:0"}))
    with pytest.raises(InvalidInputError) as caught:
        load("abalone")
    for part in (
        "load needs abalone.parquet",
        f"from {url} failed",
        "Try again",
        "RECOUP_DATA",
    ):
        assert part in str(caught.value)
    assert left(place) == []


def test_a_client_helps_where_the_server_does_not(table, server, place):
    server.files.clear()
    frame = pq.read_table(TABLE).to_pandas()
    answer = SimpleNamespace(data=frame.drop(columns="target"), target=frame["target"])
    place.patch.setattr(sklearn.datasets, "fetch_openml", lambda **_: answer)
    download = Download(server.url, {"abalone.parquet": "md5:0"})
    place.change("abalone", source=SOURCE, download=download)
    assert len(load("abalone")) == ROWS
    assert server.asked


def test_both_places_are_named_where_both_fail(table, server, place):
    def refuse(**_):
        raise ConnectionError("no route to host")

    server.files.clear()
    place.patch.setattr(sklearn.datasets, "fetch_openml", refuse)
    download = Download(server.url, {"abalone.parquet": "md5:0"})
    place.change("abalone", source=SOURCE, download=download)
    with pytest.raises(InvalidInputError, match=r"404 .*; from OpenML, .*: no route to host\. Try"):
        load("abalone")


# Images in the format of MNIST


def plain_idx(array):
    header = [2048 + array.ndim, *array.shape]
    numbers = b"".join(int(number).to_bytes(4, "big") for number in header)
    return numbers + array.tobytes()


def idx(array):
    return gzip.compress(plain_idx(array))


@pytest.fixture
def digits(server, place):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (7, 28, 28), dtype=np.uint8)
    y = np.array([3, 1, 3, 1, 1, 3, 3], dtype=np.uint8)
    known = entries()["mnist"].download
    parts = {
        name: idx(a) for name, a in zip(known.files, (X[:5], y[:5], X[5:], y[5:]), strict=True)
    }
    server.files.update(parts)
    hashes = {name: sha256(content) for name, content in parts.items()}
    small = {"rows": 7, "classes": {"1": 3, "3": 4}, "parts": (5, 2)}
    download = replace(known, url=server.url, files=hashes)
    entry = place.change("mnist", digest="", source=None, download=download, **small)
    fetch.write_downloaded(entry, download, place.cache.parent / "digits.npz")
    digest = content_digest(read_images(entry, place.cache.parent / "digits.npz"))
    place.change("mnist", digest=digest, source=None, download=download, **small)
    server.asked.clear()
    return SimpleNamespace(X=X, y=y)


def test_images_come_from_four_files(digits, server, place):
    found = load("mnist", positive=3)
    np.testing.assert_array_equal(found.X, digits.X)
    np.testing.assert_array_equal(found.y_true, digits.y == 3)
    assert found.split.tolist() == ["train"] * 5 + ["test"] * 2
    assert len(server.asked) == 4
    assert left(place) == ["mnist.npz"]


def test_files_that_arrived_before_a_failure_are_not_asked_for_again(digits, server, place):
    last = list(server.files)[-1]
    kept = server.files.pop(last)
    with pytest.raises(InvalidInputError, match="404"):
        load("mnist", positive=3)
    assert len(left(place)) == 3
    server.files[last] = kept
    server.asked.clear()
    assert len(load("mnist", positive=3)) == 7
    assert server.asked == [last]
    assert left(place) == ["mnist.npz"]


@pytest.mark.parametrize(
    "content",
    [b"", gzip.compress(b"<html>"), idx(np.ones((2, 2)))[:-9]],
    ids=["empty", "page", "cut"],
)
def test_other_files_are_no_idx(content):
    with pytest.raises((ValueError, EOFError, OSError)):
        decode_idx(content)


@pytest.mark.data
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_published_files_hold_the_images_of_the_catalog(name, load_real):
    """The MD5 of the files before compression, as published, is that of the catalog's rows."""
    published = {
        "mnist": "6bbc9ace898e44ae57da46a324031adb 2646ac647ad5339dbf082846283269ea",
        "fashion_mnist": "f4a8712d7a061bf5bd6d2ca38dc4d50a 8181f5470baa50b63fa0f6fddb340f0a",
    }
    X = load_real(name).X
    for part, expected in zip((X[:60_000], X[60_000:]), published[name].split(), strict=True):
        assert hashlib.md5(plain_idx(part)).hexdigest() == expected


# Tables of numbers as text


def numbers(place, server, name, content, **fields):
    """Serve a file in place of the one a dataset is downloaded from, with the hash it has."""
    known = entries()[name].download
    (file,) = known.files
    server.files[file] = content
    download = replace(known, url=server.url, files={file: sha256(content)})
    return place.change(name, source=None, download=download, **fields)


def adopt(place, entry, path):
    """Take what the download gives as the values that are right."""
    fetch.write_downloaded(entry, entry.download, path)
    return place.change(
        entry.name,
        **{f: getattr(entry, f) for f in ("source", "download", "rows", "classes")},
        digest=content_digest(read_tabular(entry, path)),
    )


def test_a_table_between_tabs_has_the_names_of_the_catalog(server, place, tmp_path):
    content = b"800\t0\t0.3048\t71.3\t0.00266337\t126.201\r\n1000\t1.5\t0.3048\t71.3\t1e-3\t125\r\n"
    entry = numbers(place, server, "airfoil", content, rows=2)
    adopt(place, entry, tmp_path / "airfoil.parquet")
    found = load("airfoil")
    assert found.feature_names == entries()["airfoil"].download.columns[:-1]
    assert found.X.tolist() == [[800, 0, 0.3048, 71.3, 0.00266337], [1000, 1.5, 0.3048, 71.3, 1e-3]]
    assert found.y_true.tolist() == [1, 0]
    assert left(place) == ["airfoil.parquet"]


def test_a_packed_table_has_the_names_of_its_first_line(server, place, tmp_path):
    names = [f"X{i:02}" for i in range(21)]
    rows = np.round(np.random.default_rng(0).normal(size=(3, 21)), 2)
    lines = ["\t".join([*names, "target"])]
    lines += ["\t".join(map(str, [*row, y])) for row, y in zip(rows, (2, 1, 2), strict=True)]
    content = gzip.compress("\n".join(lines).encode())
    entry = numbers(place, server, "waveform", content, rows=3, classes={"1": 1, "2": 2})
    adopt(place, entry, tmp_path / "waveform.parquet")
    found = load("waveform")
    assert found.feature_names == tuple(names)
    np.testing.assert_array_equal(found.X, rows)
    assert found.y_true.tolist() == [0, 1, 0]


def test_a_table_of_another_size_is_refused(server, place):
    numbers(place, server, "airfoil", b"1\t2\t3\t4\t5\t6\n")
    with pytest.raises(InvalidInputError, match=r"1,503 rows and 5 features. .* returned 1 and 5"):
        load("airfoil")
    numbers(place, server, "waveform", gzip.compress(b"a,b,target\n1,2,0\n"), rows=1, features=2)
    with pytest.raises(InvalidInputError, match=r"to hold the classes .*Got \{'0': 1\}"):
        load("waveform")
    assert not list(place.cache.glob("*.parquet"))


def test_scikit_learn_fetches_a_table_that_is_checked_by_its_size(place):
    known = entries()["covertype"]
    X = np.arange(3 * 54).reshape(3, 54)
    asked = []

    def fetch_covtype(*, data_home):
        asked.append(data_home)
        names = [f"column_{i}" for i in range(54)]
        return SimpleNamespace(data=X, target=np.array([5, 2, 2]), feature_names=names)

    place.patch.setattr(sklearn.datasets, "fetch_covtype", fetch_covtype)
    with pytest.raises(InvalidInputError, match=r"581,012 rows and 54 features.*3 and 54"):
        load("covertype")
    place.change("covertype", rows=3, classes={"2": 2, "5": 1})
    found = load("covertype")
    np.testing.assert_array_equal(found.X, X)
    assert found.y_true.tolist() == [0, 1, 1]
    assert asked == [str(place.cache / "scikit-learn")] * 2
    assert left(place) == ["covertype.parquet"]
    place.change("covertype", rows=known.rows, classes=known.classes)
    with pytest.raises(InvalidInputError, match=r"it has 3 rows.*load then fetches it again"):
        load("covertype")


# How far a download is


def test_progress_goes_from_nothing_to_all():
    steps = []
    bar = fetch._Hundredths(lambda: steps.append(1))
    bar.total = 1000
    for _ in range(5):
        bar.update(150)
    assert len(steps) == 75
    bar.reset()
    bar.update(1000)
    bar.close()
    assert len(steps) == 100
