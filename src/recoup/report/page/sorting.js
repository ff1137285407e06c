// Tables that sort by any column, and stay sorted when their numbers move.
const Sorting = (() => {
  "use strict";

  const { html } = Charts;
  const { DASH } = Words;
  /** @type {Map<HTMLTableElement, [number, number]>} */
  const orders = new Map();

  /** @type {(table: HTMLTableElement) => void} */
  function makeSortable(table) {
    const heads = [...(table.tHead?.rows[0].cells ?? [])];
    heads.forEach((head, column) => {
      const button = html("button", { type: "button", class: "sort" }, ...head.childNodes);
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const order = head.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
        for (const other of heads) {
          other.setAttribute("aria-sort", other === head ? order : "none");
        }
        const sign = order === "ascending" ? 1 : -1;
        orders.set(table, [column, sign]);
        sortRows(table.tBodies[0], column, sign);
      });
    });
  }

  /** @type {(body: HTMLTableSectionElement, column: number, sign: number) => void} */
  function sortRows(body, column, sign) {
    const keyed = [...body.rows].map((row) => {
      const text = row.cells[column].textContent.trim();
      const number = parseFloat(text.replace(/,/g, ""));
      return { row, text, number, absent: text === DASH };
    });
    const numbers = keyed.every(({ number, absent }) => absent || !Number.isNaN(number));
    keyed.sort((a, b) => {
      if (a.absent || b.absent) return Number(a.absent) - Number(b.absent);
      return sign * (numbers ? a.number - b.number : a.text.localeCompare(b.text, "en"));
    });
    body.append(...keyed.map(({ row }) => row));
  }

  function again() {
    for (const [table, order] of orders) sortRows(table.tBodies[0], ...order);
  }

  return { again, makeSortable };
})();
