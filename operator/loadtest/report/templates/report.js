"use strict";
// Without this script the report is whole: it only hides lines, and reads the table's row under the pointer aloud.
for (const figure of document.querySelectorAll("figure")) {
  const picture = figure.querySelector("svg[data-x]");
  const output = figure.querySelector("output");
  const cursor = picture.querySelector(".cursor");
  const heads = [...figure.querySelectorAll("thead th")].map((cell) => cell.textContent);
  const rows = figure.querySelectorAll("tbody tr");
  const places = figure.dataset.places ? figure.dataset.places.split(" ").map(Number) : [];
  const [low, high, start, end, log] = picture.dataset.x.split(" ").map(Number);
  const scale = log ? Math.log10 : (value) => value;
  const at = (value) => start + ((scale(value) - scale(low)) / (scale(high) - scale(low))) * (end - start);

  for (const button of figure.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!shown));
      picture.querySelector(`[data-line="${button.dataset.line}"]`).classList.toggle("off", shown);
    });
  }
  if (!places.length) continue;
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * picture.viewBox.baseVal.width;
    let near = 0;
    places.forEach((place, index) => {
      if (Math.abs(at(place) - x) < Math.abs(at(places[near]) - x)) near = index;
    });
    cursor.setAttribute("x1", at(places[near]));
    cursor.setAttribute("x2", at(places[near]));
    cursor.setAttribute("visibility", "visible");
    const cells = [...rows[near].children].map((cell) => cell.textContent);
    output.textContent = cells.map((cell, index) => `${heads[index]} ${cell}`).join(" · ");
  });
  picture.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    output.textContent = "";
  });
}
// What is folded is printed too.
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details:not(.figures)")) each.open = true;
});
