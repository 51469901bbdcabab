(() => {
  "use strict";
  // Themes: that of the system, until the button is pressed.
  const root = document.documentElement;
  const remembered = (value) => {
    try {
      if (value) localStorage.setItem("tellapart-theme", value);
      return localStorage.getItem("tellapart-theme");
    } catch { return null; } // a file without storage
  };
  const chosenTheme = remembered();
  if (chosenTheme === "dark" || chosenTheme === "light") root.dataset.theme = chosenTheme;
  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    remembered(root.dataset.theme);
  });
})();
