(() => {
  "use strict";
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const one = (id) => document.getElementById(id);

  // Examples: which are shown, and in which order.
  const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
  const filter = () => {
    const sample = chosen("sample"), level = chosen("level");
    for (const group of all(".level")) {
      group.hidden = Boolean(level) && group.dataset.level !== level;
      for (const row of all("[data-sample]", group)) row.hidden = Boolean(sample) && row.dataset.sample !== sample;
    }
  };
  const before = new Map(all(".rows > *").map((row, k) => [row, k]));
  const sort = () => {
    const sign = { up: 1, down: -1 }[one("order").value] || 0;
    for (const rows of all(".rows")) {
      const place = (row) => (sign ? sign * row.dataset.value : before.get(row));
      rows.append(...[...rows.children].sort((a, b) => place(a) - place(b)));
    }
    all(".sortable th[aria-sort]").forEach((head) => head.removeAttribute("aria-sort"));
  };
  if (one("controls")) {
    one("controls").hidden = false;
    all("#controls input[type=radio]").forEach((input) => input.addEventListener("change", filter));
    one("order").addEventListener("change", sort);
  }
  const overlay = one("overlay");
  if (overlay) overlay.addEventListener("change", () => one("examples-section").classList.toggle("overlaid", overlay.checked));

  // Tables of examples: a heading sorts by its column, as numbers where all are; what is empty comes last.
  const sortable = (head, click) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      all("th[aria-sort]", head.parentNode).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      click(descending ? -1 : 1);
    });
  };
  const key = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent.trim();
  for (const head of all(".sortable thead th")) {
    sortable(head, (sign) => {
      const body = head.closest("table").tBodies[0];
      const rows = [...body.rows];
      const numeric = rows.every((row) => key(row, head.cellIndex) === "" || !Number.isNaN(Number(key(row, head.cellIndex))));
      rows.sort((a, b) => {
        const [p, q] = [key(a, head.cellIndex), key(b, head.cellIndex)];
        if (p === "" || q === "") return (p === "") - (q === "");
        return (numeric ? p - q : p.localeCompare(q)) * sign;
      });
      body.append(...rows);
    });
  }

  // Tables of findings: searched, filtered and sorted; at first only some rows are shown.
  for (const table of all(".findings")) {
    const name = table.id.replace("-table", "");
    const of = (kind) => document.querySelector(`[data-${kind}="${name}"]`);
    const body = table.tBodies[0];
    const [search, only, by, count, more] = ["search", "only", "sort", "count", "more"].map(of);
    const most = Number(table.dataset.shown);
    let expanded = false;
    const show = () => {
      const words = (search ? search.value : "").toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      for (const row of body.rows) {
        const fits = words.every((word) => row.dataset.name.includes(word)) && !(only && only.checked && !row.classList.contains("named"));
        found += fits;
        row.hidden = !fits || (!expanded && found > most);
      }
      if (more) {
        more.hidden = found <= most;
        more.firstElementChild.textContent = expanded ? "Show fewer" : `Show all ${found}`;
      }
      if (count) count.textContent = words.length || (only && only.checked) ? `${found} of ${body.rows.length}` : "";
    };
    const order = (what, sign) => {
      const place = { name: (a, b) => a.dataset.name.localeCompare(b.dataset.name), size: (a, b) => b.dataset.size - a.dataset.size,
        p: (a, b) => a.dataset.p - b.dataset.p || a.dataset.order - b.dataset.order }[what];
      body.append(...[...body.rows].sort((a, b) => sign * place(a, b)));
      show();
    };
    for (const head of all("thead th[data-by]", table)) {
      const what = head.dataset.by;
      // Effects begin with the largest.
      sortable(head, (sign) => { order(what, sign); if (by) by.value = what; });
    }
    if (search) search.addEventListener("input", show);
    if (only) only.addEventListener("change", show);
    if (by) by.addEventListener("change", () => {
      all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
      order(by.value, 1);
    });
    if (more) more.firstElementChild.addEventListener("click", () => { expanded = !expanded; show(); });
    document.querySelector(`[data-for="${name}"]`).hidden = false;
    show();
  }

  // Map of pixels: what is under the pointer, or under the cursor that the arrow keys move.
  const map = one("pixel-map");
  if (map && map.dataset.effects) {
    const [effects, pvalues] = [map.dataset.effects, map.dataset.pvalues].map((text) => text.split(" ").map(Number));
    const [width, height] = [Number(map.dataset.width), Number(map.dataset.height)];
    const cursor = map.querySelector(".cursor");
    let [row, column] = [0, 0];
    const read = () => {
      const [effect, p] = [effects[row * width + column] / 100, pvalues[row * width + column]];
      const where = effect === 0 ? "the same in both" : `${effect > 0 ? "+" : "−"}${Math.abs(effect)} SD, more in ${effect > 0 ? map.dataset.y : map.dataset.x}`;
      one("pixel-readout").textContent = `Pixel ${row},${column}: ${where}, adjusted p ${p}`;
      cursor.hidden = false;
      cursor.style.left = `${(100 * column) / width}%`;
      cursor.style.top = `${(100 * row) / height}%`;
    };
    const clamp = (value, most) => Math.min(most - 1, Math.max(0, value));
    const point = (event) => {
      const box = map.querySelector("img").getBoundingClientRect();
      column = clamp(Math.floor(((event.clientX - box.left) / box.width) * width), width);
      row = clamp(Math.floor(((event.clientY - box.top) / box.height) * height), height);
      read();
    };
    map.addEventListener("pointermove", point);
    map.addEventListener("pointerdown", point); // a finger
    map.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      [row, column] = [clamp(row + step[0], height), clamp(column + step[1], width)];
      read();
    });
  }

  // Heat map: the weight under the pointer.
  const heat = one("heat");
  if (heat && heat.dataset.values) {
    const values = heat.dataset.values.split(" ").map(Number);
    const [width, height] = [Number(heat.dataset.width), Number(heat.dataset.height)];
    const point = (event) => {
      const box = heat.firstElementChild.getBoundingClientRect();
      const column = Math.min(width - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * width)));
      const row = Math.min(height - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * height)));
      one("readout").textContent = `pixel ${row},${column}: ${values[row * width + column] / 10} % of the largest weight`;
    };
    heat.addEventListener("pointermove", point);
    heat.addEventListener("pointerdown", point);
  }

  // The command, for the clipboard; pages opened from a file may not have one.
  const copy = one("copy");
  if (copy) {
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
  }
})();
