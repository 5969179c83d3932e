"use strict";
// Everything that comes from the records goes into the page as text (textContent), never as markup.

const SVG = "http://www.w3.org/2000/svg";

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  Object.assign(element, properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function draw(tag, attributes = {}) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function labelled(element, name) {
  element.setAttribute("aria-label", name);
  return element;
}

const spaced = (name) => name.replaceAll("_", " ");

function duration(seconds) {
  if (seconds < 1) return `${(1000 * seconds).toPrecision(3)} ms`;
  return seconds < 120 ? `${seconds.toFixed(1)} s` : `${(seconds / 60).toFixed(1)} min`;
}

function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}

function facts(pairs) {
  const list = make("dl", { className: "facts" });
  for (const [name, value] of pairs) list.append(make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value })));
  return list;
}

function ofKey(kind, key) {
  return [...document.querySelectorAll(`script.${kind}`)].find((element) => element.dataset.key === key);
}

// ---- the theme

const theme = document.getElementById("theme");
theme.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

// ---- filters

const episodes = [...document.querySelectorAll("details.episode")];
const filters = document.getElementById("filters");

function applyFilters() {
  const words = document.getElementById("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const task = document.getElementById("task").value;
  const outcome = filters.elements.outcome.value;
  const deliberated = document.getElementById("deliberated").checked;
  let shown = 0;
  for (const episode of episodes) {
    const data = episode.dataset;
    const fits = (!task || data.task === task) && (!outcome || data.status === outcome)
      && (!deliberated || Number(data.deliberated) > 0) && words.every((word) => data.search.includes(word));
    episode.hidden = !fits;
    shown += fits ? 1 : 0;
  }
  const all = episodes.length;
  document.getElementById("shown").textContent = shown === all ? `${all} episodes` : `${shown} of ${all} episodes`;
  document.getElementById("none").hidden = shown > 0;
}

if (filters) {
  filters.addEventListener("input", applyFilters);
  filters.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) {
      event.preventDefault();
      document.getElementById("search").focus();
    }
  });
  applyFilters(); // a browser restores the form of a page that is loaded again
}
