"""What pages that stand in one file share: how they are written, and shown in a notebook."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from html import escape
from pathlib import Path
from typing import Any

from recoup._core.files import write_file


class WrittenPage(ABC):
    """A page of one file, which also gives its words and numbers as Markdown and JSON."""

    @abstractmethod
    def to_html(self) -> str:
        """Return the page as text. The same evaluation gives the same page.

        Returns
        -------
        str
        """

    @abstractmethod
    def to_markdown(self) -> str:
        """Return the words and tables of the page as Markdown.

        Returns
        -------
        str
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the words and numbers of the page as plain values.

        Returns
        -------
        dict
        """

    def write(self, path: str | Path) -> Path:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Where to. An existing file is replaced. A name that ends in ``.md`` or ``.json`` gives
            the same words and numbers as Markdown or JSON, without pictures and sliders.

        Returns
        -------
        Path
        """
        suffix = Path(path).suffix.lower()
        if suffix == ".md":
            return write_file(path, self.to_markdown().encode("utf-8", "replace"))
        if suffix == ".json":
            text = json.dumps(self.to_dict(), indent=2, allow_nan=False)
            return write_file(path, f"{text}\n".encode())
        return write_file(path, self.to_html().encode("utf-8", "xmlcharrefreplace"))

    def _repr_html_(self) -> str:
        page = escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:40em;border:0"></iframe>'
