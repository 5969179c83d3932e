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

// ---- an episode

function media(key) {
  const holder = ofKey("media", key);
  if (!holder) return { node: null, video: null };
  const { kind, link } = holder.dataset;
  const beside = make("p", { className: "faint" }, make("a", { href: link, textContent: link }));
  const parts = holder.textContent.split(" ");
  if (kind === "video") {
    const bytes = Uint8Array.from(atob(parts[0]), (character) => character.charCodeAt(0));
    const video = make("video", { controls: true, muted: true, playsInline: true, preload: "auto" });
    video.src = URL.createObjectURL(new Blob([bytes], { type: "video/mp4" }));
    return { node: video, video };
  }
  if (kind === "strip") {
    const images = parts.map((data, index) => make("img", { src: `data:image/jpeg;base64,${data}`, alt: `picture ${index + 1} of ${parts.length}` }));
    return { node: make("div", {}, make("div", { className: "strip" }, ...images), beside), video: null };
  }
  return { node: beside, video: null };
}

function timeline(decisions, steps, seek) {
  const width = Math.max(steps, 1);
  const doubts = decisions.map((decision) => decision.doubt).filter((doubt) => doubt !== null);
  const top = doubts.length ? 0 : 54;
  const chart = draw("svg", { class: "timeline", viewBox: `0 ${top} ${width} ${74 - top}`, preserveAspectRatio: "none", role: "img", "aria-label": "decisions over the episode's steps" });
  chart.style.height = `${74 - top}px`;
  const [low, high] = [Math.min(0, ...doubts), Math.max(...doubts, 1e-9)];
  let path = "";
  for (const decision of decisions) {
    const gap = Math.min(0.15 * decision.n, width / 600);
    const bar = draw("rect", { x: decision.start, y: 58, width: decision.n - gap, height: 12, class: decision.mode });
    const title = draw("title");
    title.textContent = `step ${decision.start}: ${decision.mode}${decision.doubt === null ? "" : `, doubt ${decision.doubt}`}${decision.why ? ` – ${decision.why}` : ""}`;
    bar.append(title);
    bar.addEventListener("click", () => seek(decision));
    chart.append(bar);
    if (decision.doubt !== null) {
      const y = 52 - 48 * (decision.doubt - low) / (high - low);
      path += `${path ? "L" : "M"}${decision.start},${y}L${decision.start + decision.n},${y}`;
    }
  }
  if (path) chart.append(draw("path", { d: path }));
  const now = draw("rect", { class: "now", x: -9, y: 0, width: width / 500, height: 74 });
  chart.append(now);
  return { chart, doubts: doubts.length > 0, high, now };
}

function legend(decisions, { doubts, high }) {
  const row = make("div", { className: "legend" }, make("span", { className: "key", textContent: "reflex" }));
  if (decisions.some((decision) => decision.mode === "deliberate")) row.append(make("span", { className: "key deliberate", textContent: "deliberated" }));
  if (doubts) row.append(make("span", { className: "key doubt", textContent: `doubt (top ${high.toPrecision(3)})` }));
  return row;
}

function facts(pairs) {
  const list = make("dl", { className: "facts" });
  for (const [name, value] of pairs) list.append(make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value })));
  return list;
}

const spaced = (name) => name.replaceAll("_", " ");

function costText(cost) {
  return Object.entries(cost).map(([name, count]) => `${spaced(name)} ${count}`).join(", ");
}

function decisionRow(decision, seek) {
  const why = make("td", { textContent: decision.why });
  if (decision.candidates) why.append(make("span", { className: "faint", textContent: ` (${decision.chosen === null ? "" : `candidate ${decision.chosen} `}of ${decision.candidates})` }));
  if (decision.actions) why.append(make("div", { textContent: decision.actions.join(" · ") }));
  const more = [decision.text, decision.notes].filter(Boolean);
  if (more.length) why.append(make("details", {}, make("summary", { textContent: "more" }), ...more.map((text) => make("pre", { textContent: text }))));
  const step = make("button", { type: "button", textContent: String(decision.start) });
  step.addEventListener("click", () => seek(decision));
  return make("tr", { className: decision.mode },
    make("td", { className: "num" }, step),
    make("td", { textContent: decision.mode === "deliberate" ? "deliberated" : decision.mode }),
    make("td", { className: "num", textContent: decision.doubt === null ? "" : String(decision.doubt) }),
    why,
    make("td", { textContent: costText(decision.cost) }),
    make("td", { className: "num", textContent: `${(1000 * decision.seconds).toPrecision(3)} ms` }));
}

function decisionTable(decisions, leftOut, seek) {
  const head = ["step", "mode", "doubt", "why", "cost", "time"].map((name) => make("th", { textContent: name, className: /step|doubt|time/.test(name) ? "num" : "" }));
  const rows = decisions.map((decision) => decisionRow(decision, seek));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
  const box = make("div", { className: "decisions", tabIndex: 0 }, table);
  box.setAttribute("aria-label", "decisions");
  if (leftOut) box.append(make("p", { className: "faint", textContent: `${leftOut} more decisions are in the trace.` }));
  return { box, rows };
}

function fill(episode) {
  const body = episode.querySelector(".body");
  if (body.childElementCount) return;
  const detail = JSON.parse(ofKey("details", episode.id).textContent);
  if (detail.error) body.append(make("p", { className: "problem", textContent: detail.error }));
  if (detail.missing) body.append(make("p", { className: "faint", textContent: detail.missing }));
  const { node, video } = media(episode.id);
  const { world, task, init_state: state, seed } = detail.identity;
  const said = facts([
    ...Object.entries(detail.metrics),
    ...Object.entries(detail.cost).map(([name, count]) => [spaced(name), count]),
    ["world", world], ["task", task], ["init state", state === null ? "drawn by the seed" : state], ["seed", seed],
    ["trajectory", detail.trajectory.slice(0, 16)],
  ]);
  body.append(node ? make("div", { className: "watch" }, node, said) : said);
  let start = 0;
  for (const decision of detail.decisions) {
    decision.start = start;
    start += decision.n;
  }
  const seek = (decision) => {
    if (video) video.currentTime = (decision.start + 0.5) / FPS;
  };
  if (detail.decisions.length) {
    const line = timeline(detail.decisions, detail.steps, seek);
    body.append(line.chart, legend(detail.decisions, line));
    const { box, rows } = decisionTable(detail.decisions, detail.left_out, seek);
    if (video) {
      video.addEventListener("timeupdate", () => {
        const step = Math.min(video.currentTime * FPS, detail.steps);
        line.now.setAttribute("x", step);
        detail.decisions.forEach((decision, index) => rows[index].classList.toggle("current", step >= decision.start && step < decision.start + decision.n));
      });
    }
    body.append(box);
  }
  if (detail.final_text) body.append(make("pre", { textContent: detail.final_text }));
}

for (const episode of episodes) {
  episode.addEventListener("toggle", () => {
    if (episode.open) fill(episode);
  });
}

function openLinked() {
  const linked = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (linked && linked.classList.contains("episode")) {
    linked.open = true;
    linked.scrollIntoView();
  }
}
addEventListener("hashchange", openLinked);
openLinked();
