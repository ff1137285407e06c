"""Every package that the tests install is pinned, and has digests in the file for CI."""

import re

import pytest

from tools import pins


def test_every_package_is_pinned():
    assert set(pins.installed_versions()) - set(pins.pinned_versions()) == set()


def test_every_pin_but_torch_has_digests():
    text = pins.HASHED.read_text()
    hashed, pinned = pins.pinned_versions(pins.HASHED), pins.pinned_versions()
    assert {name: hashed.get(name) for name in pinned} == pinned | {"torch": None}
    assert set(hashed) - set(pinned) <= set(pins.BUILDING)
    for part in re.split(r"(?m)^(?=[a-z])", text)[1:]:
        digests = re.findall(r"--hash=sha256:([0-9a-f]{64})", part)
        assert digests, part
        assert part.count("--hash=") == len(set(digests))


@pytest.mark.parametrize(
    ("file", "can"),
    [
        ("six-1.0-py2.py3-none-any.whl", True),
        ("numpy-2.4-cp312-cp312-manylinux_2_28_x86_64.whl", True),
        ("numpy-2.4-cp312-cp312-manylinux_2_17_aarch64.manylinux2014_aarch64.whl", True),
        ("numpy-2.4-cp39-cp39-manylinux_2_28_x86_64.whl", False),
        ("numpy-2.4-cp313-cp313t-manylinux_2_28_x86_64.whl", False),
        ("numpy-2.4-cp312-cp312-musllinux_1_2_x86_64.whl", False),
        ("numpy-2.4-cp312-cp312-win_amd64.whl", False),
        ("psutil-7.2-cp36-abi3-manylinux2014_x86_64.whl", True),
        ("some-1.0-cp314-abi3-manylinux2014_x86_64.whl", False),
        ("backrefs-8.3-py312-none-any.whl", True),
        ("backrefs-8.3-py314-none-any.whl", False),
        ("old-1.0-py2-none-any.whl", False),
    ],
)
def test_files_are_those_that_linux_can_install(file, can):
    assert pins.installable(file) is can


def test_names_and_extras_are_read():
    assert pins.parts_of("dask[dataframe]>=2024.8") == ("dask", ("dataframe",))
    assert pins.parts_of("Typing_Extensions; python_version < '3.12'") == ("typing-extensions", ())


def test_what_is_not_pinned_is_named(monkeypatch):
    monkeypatch.setattr(pins, "pinned_versions", lambda: {"numpy": "0.1"})
    monkeypatch.setattr(pins, "installed_versions", lambda: {"numpy": "2.4", "scipy": "1.17"})
    assert list(pins.unpinned()) == [
        "numpy is 2.4 here, and 0.1 pinned.",
        "scipy is 1.17 here, and not pinned.",
    ]
