"""Pin every package that the tests install, and write down the digests of their files.

    python -m tools.pins            write constraints.txt and requirements-ci.txt
    python -m tools.pins --check    say which packages here are not those of constraints.txt

Pinned are the versions in this environment, so update and test there first. Digests are those that
the package index gives for the files of these versions which Python 3.11 to 3.13 can install on
Linux; other systems install from constraints.txt. torch has none: which of its builds is installed,
for processors alone or for one of several kinds of GPU, and from where, differs from machine to
machine.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urldefrag
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
CONSTRAINTS, HASHED = ROOT / "constraints.txt", ROOT / "requirements-ci.txt"
INDEX = "https://pypi.org/simple"
WITHOUT_DIGEST = "torch"
# What builds recoup itself: with it at hand, nothing else is fetched that has no digest.
BUILDING = ("editables", "hatchling", "tomlkit", "trove-classifiers")
PYTHONS = ("3.11", "3.12", "3.13")
LINUX = re.compile(r"any|.*manylinux.*_(x86_64|aarch64)")
LINK = re.compile(r'<a [^>]*href="([^"]+)"')
ABOUT_CONSTRAINTS = """\
# The exact versions that the Makefile installs and that results are checked with: of every package
# that recoup and its extras bring, directly or not. What a system or a Python does not need is not
# installed there. pyproject.toml holds the ranges recoup supports. Written by make pins.
"""
ABOUT_TORCH = """
# torch is always pinned: left open, pip takes gigabytes of CUDA packages.
"""
ABOUT_HASHED = """\
# The versions of constraints.txt with the digests of their files, for make install-hashed on Linux.
# Written by make pins. torch is left out: its builds differ from machine to machine, so that only
# its version is pinned, and pip takes it from where it is told to look.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    if parser.parse_args().check:
        problems = list(unpinned())
        print("\n".join(problems) or "Every package is pinned at the version that is here.")
        sys.exit(1 if problems else 0)
    versions = installed_versions()
    text = ABOUT_CONSTRAINTS + "".join(
        f"{name}=={version}\n" for name, version in versions.items() if name != WITHOUT_DIGEST
    )
    CONSTRAINTS.write_text(f"{text}{ABOUT_TORCH}torch=={versions[WITHOUT_DIGEST]}\n")
    versions |= {name: newest(name) for name in BUILDING if name not in versions}
    HASHED.write_text(ABOUT_HASHED + "".join(hashed_lines(versions)))


def canonical_name(name: str) -> str:
    """Write the name of a package as the index does."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned_versions(path: Path = CONSTRAINTS) -> dict[str, str]:
    """Read the versions of a file of pins."""
    pins = re.findall(r"(?m)^([\w.-]+)==([^\s;\\]+)", path.read_text())
    return {canonical_name(name): version for name, version in pins}


def unpinned() -> Iterator[str]:
    """Say which packages that recoup[test] brings here are pinned otherwise, or not at all."""
    pins = pinned_versions()
    for name, version in installed_versions().items():
        if pins.get(name) != version:
            yield f"{name} is {version} here, and {pins.get(name, 'not')} pinned."


def installed_versions() -> dict[str, str]:
    """Return the version of every package that recoup and its extras bring, directly or not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    waiting = [*project["dependencies"], *(one for extra in extras for one in extra)]
    found: dict[str, str] = {}
    while waiting:
        name, wanted = parts_of(waiting.pop())
        if name in found and not wanted:
            continue
        try:
            package = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # of another system or Python
        # Of a build, what comes after the plus says for which machines it is.
        found[name] = package.version.partition("+")[0]
        for needed in package.requires or []:
            asked = re.search(r"extra\s*==\s*['\"]([^'\"]+)", needed)
            if asked is None or asked[1] in wanted:
                waiting.append(needed)
    return dict(sorted(found.items()))


def parts_of(requirement: str) -> tuple[str, tuple[str, ...]]:
    """Return the name in a requirement, and the extras it asks for."""
    match = re.match(r"\s*([\w.-]+)\s*(?:\[([^\]]*)\])?", requirement)
    assert match is not None
    extras = tuple(part.strip() for part in (match[2] or "").split(",") if part.strip())
    return canonical_name(match[1]), extras


def files_of(name: str) -> dict[str, str]:
    """Return the digest of each file that the index has of a package."""
    with urlopen(f"{INDEX}/{name}/", timeout=60) as answer:
        page = answer.read().decode()
    found = {}
    for link in LINK.findall(page):
        address, digest = urldefrag(link)
        if digest.startswith("sha256="):
            found[unquote(address.rsplit("/", 1)[1])] = digest.removeprefix("sha256=")
    return found


def newest(name: str) -> str:
    """Return the newest version of a package without letters in it."""
    numbers = {one for file in files_of(name) if re.fullmatch(r"[\d.]+", one := file.split("-")[1])}
    return max(numbers, key=lambda number: [int(part) for part in number.split(".")])


def installable(file: str) -> bool:
    """Say whether a wheel can be installed on Linux by one of the Pythons."""
    *_, pythons, abi, platforms = file.removesuffix(".whl").split("-")
    if not any(LINUX.fullmatch(one) for one in platforms.split(".")):
        return False
    minors = [int(python.partition(".")[2]) for python in PYTHONS]
    for one in pythons.split("."):
        if abi == "none" and one in (
            "py3",
            *(f"{kind}3{minor}" for kind in ("py", "cp") for minor in minors),
        ):
            return True
        if abi == one and one in [f"cp3{minor}" for minor in minors]:
            return True
        since = re.fullmatch(r"cp3(\d*)", one)
        if abi == "abi3" and since is not None and int(since[1] or 0) <= minors[-1]:
            return True
    return False


def hashed_lines(versions: dict[str, str]) -> Iterator[str]:
    """Write each version with the digests of its files."""
    for name, version in sorted(versions.items()):
        if name == WITHOUT_DIGEST:
            continue
        files = files_of(name)
        wheels = [
            digest
            for file, digest in files.items()
            if file.endswith(".whl") and file.split("-")[1] == version and installable(file)
        ]
        # An archive of sources may have hyphens in its name.
        spelled = name.replace("-", "[-_.]")
        source = re.compile(rf"{spelled}-{re.escape(version)}\.(tar\.gz|zip)", re.IGNORECASE)
        chosen = wheels or [digest for file, digest in files.items() if source.fullmatch(file)]
        if not chosen:
            raise SystemExit(f"The index has no file of {name} {version} for Linux.")
        digests = " \\\n".join(f"    --hash=sha256:{digest}" for digest in sorted(set(chosen)))
        yield f"{name}=={version} \\\n{digests}\n"


if __name__ == "__main__":
    main()
