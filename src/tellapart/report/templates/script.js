"use strict";
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const one = (id) => document.getElementById(id);

  // Themes: that of the system, until the button is pressed.
  const root = document.documentElement;
  const remembered = (value) => {
    try {
      if (value) localStorage.setItem("tellapart-theme", value);
      return localStorage.getItem("tellapart-theme");
    } catch { return null; } // a file without storage
  };
  const before = remembered();
  if (before === "dark" || before === "light") root.dataset.theme = before;
  one("theme").hidden = false;
  one("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    remembered(root.dataset.theme);
  });

  // Examples: which are shown, and in which order.
  const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
  const filter = () => {
    const sample = chosen("sample"), level = chosen("level");
    for (const group of all(".level")) {
      group.hidden = Boolean(level) && group.dataset.level !== level;
      for (const row of all("[data-sample]", group)) row.hidden = Boolean(sample) && row.dataset.sample !== sample;
    }
  };
  const sort = () => {
    const sign = { up: 1, down: -1 }[one("order").value] || 0;
    for (const rows of all(".rows")) {
      const place = (row) => (sign ? sign * row.dataset.value : Number(row.dataset.order));
      rows.append(...[...rows.children].sort((a, b) => place(a) - place(b)));
    }
    all("th[aria-sort]").forEach((head) => head.removeAttribute("aria-sort"));
  };
  one("controls").hidden = false;
  all("#controls input[type=radio]").forEach((input) => input.addEventListener("change", filter));
  one("order").addEventListener("change", sort);
  const overlay = one("overlay");
  if (overlay) overlay.addEventListener("change", () => one("examples-section").classList.toggle("overlaid", overlay.checked));

  // Tables: a heading sorts by its column, as numbers where all are; what is empty comes last.
  const key = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent.trim();
  for (const head of all("th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const body = head.closest("table").tBodies[0];
      const rows = [...body.rows];
      const numeric = rows.every((row) => key(row, head.cellIndex) === "" || !Number.isNaN(Number(key(row, head.cellIndex))));
      const descending = head.getAttribute("aria-sort") === "ascending";
      all("th[aria-sort]", head.parentNode).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      rows.sort((a, b) => {
        const [p, q] = [key(a, head.cellIndex), key(b, head.cellIndex)];
        if (p === "" || q === "") return (p === "") - (q === "");
        return (numeric ? p - q : p.localeCompare(q)) * (descending ? -1 : 1);
      });
      body.append(...rows);
    });
  }

  // Heat map: the weight under the pointer.
  const heat = one("heat");
  if (heat && heat.dataset.values) {
    const values = heat.dataset.values.split(" ").map(Number);
    const [width, height] = [Number(heat.dataset.width), Number(heat.dataset.height)];
    heat.addEventListener("pointermove", (event) => {
      const box = heat.firstElementChild.getBoundingClientRect();
      const column = Math.min(width - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * width)));
      const row = Math.min(height - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * height)));
      one("readout").textContent = `pixel ${row},${column}: ${values[row * width + column] / 10} % of the largest weight`;
    });
  }

  // The command, for the clipboard; pages opened from a file may not have one.
  const copy = one("copy");
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const text = one("command").textContent;
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(one("command"));
      copy.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 1600);
  });
})();
