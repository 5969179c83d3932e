// ---- an opened episode: film, timeline, the decision of the moment, and the list of all

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
    return { node: make("div", { className: "film" }, video), video };
  }
  if (kind === "strip") {
    const images = parts.map((data, index) => make("img", { src: `data:image/jpeg;base64,${data}`, alt: `picture ${index + 1} of ${parts.length}` }));
    return { node: make("div", {}, make("div", { className: "strip" }, ...images), beside), video: null };
  }
  return { node: beside, video: null };
}

function waysLayer(detail, film) {
  if (!film || !detail.decisions.some((decision) => decision.ways)) return { layer: null, note: null };
  const layer = draw("svg", { class: "ways", viewBox: `0 0 ${detail.film[0]} ${detail.film[1]}`, "aria-hidden": "true" });
  film.append(layer);
  const box = make("input", { type: "checkbox", checked: true });
  box.addEventListener("change", () => layer.classList.toggle("off", !box.checked));
  const words = " candidates’ commanded ways from where they were decided: thick what was executed, dashed the reflex";
  return { layer, note: make("label", { className: "faint small" }, box, words) };
}

function ledger(decision, so_far, total) {
  const rows = Object.keys(total).map((name) => make("tr", {},
    make("th", { scope: "row", textContent: spaced(name) }),
    make("td", { className: "num", textContent: decision.cost[name] || 0 }),
    make("td", { className: "num", textContent: so_far[name] || 0 }),
    make("td", { className: "num", textContent: total[name] })));
  const stages = Object.entries(decision.stages || {}).map(([name, seconds]) => `${spaced(name)} ${duration(seconds)}`);
  const time = `${duration(decision.seconds)} to decide${stages.length ? `: ${stages.join(", ")}` : ""}`;
  const head = ["ledger", "here", "so far", "episode"].map((name, index) => make("th", { textContent: name, className: index ? "num" : "" }));
  return make("div", {}, rows.length ? make("table", { className: "ledger" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)) : null,
    make("p", { className: "faint small", textContent: time }));
}

function clutchText(doubt, threshold) {
  if (threshold === null) return "";
  return doubt > threshold ? ` > ${threshold.toPrecision(3)}: the clutch opens` : ` ≤ ${threshold.toPrecision(3)}: the clutch stays closed`;
}

function momentPanel(detail, go) {
  const title = make("h3"), why = make("p", { className: "why" }), body = make("div");
  const button = (text, name, by) => {
    const element = labelled(make("button", { type: "button", textContent: text }), name);
    element.addEventListener("click", () => go(current + by));
    return element;
  };
  let current = 0;
  const head = make("div", { className: "head" }, button("‹", "decision before", -1), title, button("›", "next decision", 1));
  const show = (decision) => {
    current = decision.index;
    const last = decision.start + decision.n - 1;
    title.textContent = `Decision ${decision.index + 1} of ${detail.decisions.length} · step ${decision.start}${last > decision.start ? `–${last}` : ""}`;
    const doubt = decision.doubt === null ? "" : ` · doubt ${decision.doubt}${clutchText(decision.doubt, detail.threshold)}`;
    const mask = decision.mask ? ` · mask on ${(100 * decision.mask).toPrecision(2)}% of the picture` : "";
    why.replaceChildren(make("span", { className: `mode ${decision.mode}`, textContent: modeName(decision) }), ` ${doubt}${mask}`, make("br"), decision.why);
    const more = [decision.text, decision.notes].filter((text) => text && !decision.turns);
    body.replaceChildren(ledger(decision, decision.so_far, detail.cost), ...[candidatesPanel(decision)].filter(Boolean),
      ...(more.length ? [make("details", {}, make("summary", { textContent: "notes" }), ...more.map((text) => make("pre", { textContent: text })))] : []));
  };
  return { node: labelled(make("section", { className: "moment" }, head, why, body), "the decision of the moment"), show };
}

function decisionRow(decision, go) {
  const why = make("td", { textContent: decision.why });
  if (decision.candidates) why.append(make("span", { className: "faint", textContent: ` (${decision.chosen === null ? "" : `candidate ${decision.chosen} `}of ${decision.candidates})` }));
  if (decision.actions) why.append(make("div", { textContent: decision.actions.join(" · ") }));
  const step = make("button", { type: "button", textContent: String(decision.start) });
  step.addEventListener("click", () => go(decision.index));
  return make("tr", { className: decision.mode },
    make("td", { className: "num" }, step),
    make("td", { textContent: modeName(decision) }),
    make("td", { className: "num", textContent: decision.doubt === null ? "" : String(decision.doubt) }),
    why,
    make("td", { textContent: Object.entries(decision.cost).map(([name, units]) => `${spaced(name)} ${units}`).join(", ") }),
    make("td", { className: "num", textContent: duration(decision.seconds) }));
}

function decisionTable(decisions, go) {
  const head = ["step", "mode", "doubt", "why", "cost", "time"].map((name) => make("th", { textContent: name, className: /step|doubt|time/.test(name) ? "num" : "" }));
  const rows = decisions.map((decision) => decisionRow(decision, go));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
  return { box: labelled(make("div", { className: "decisions", tabIndex: 0 }, table), "decisions"), rows };
}

function number(decisions) {
  let start = 0, so_far = {};
  decisions.forEach((decision, index) => {
    so_far = { ...so_far };
    for (const [name, units] of Object.entries(decision.cost)) so_far[name] = (so_far[name] || 0) + units;
    Object.assign(decision, { index, start, so_far });
    start += decision.n;
  });
}

function identity(detail) {
  const { world, task, init_state: state, seed } = detail.identity;
  return facts([...Object.entries(detail.metrics).map(([name, value]) => [spaced(name), value]),
    ["world", world], ["task", task], ["init state", state === null ? "drawn by the seed" : state], ["seed", seed],
    ["trajectory", detail.trajectory.slice(0, 16)]]);
}

// Fills an empty element with an episode, and returns its player: null where the episode has no decisions to show.
function fill(body, key) {
  const detail = JSON.parse(ofKey("details", key).textContent);
  const holder = ofKey("pictures", key);
  const pictures = holder ? holder.textContent.split(" ") : [];
  if (detail.error) body.append(make("p", { className: "problem", textContent: detail.error }));
  if (detail.missing) body.append(make("p", { className: "faint", textContent: detail.missing }));
  const { node, video } = media(key);
  if (!detail.decisions.length) {
    body.append(...[node, identity(detail)].filter(Boolean));
    return null;
  }
  number(detail.decisions);
  const player = watch(detail, pictures, node, video);
  body.append(player.node, identity(detail));
  if (detail.cut) body.append(make("p", { className: "faint", textContent: "This episode is long: its texts are cut, and perhaps preferences and ways left out. The trace holds everything." }));
  if (detail.pictures_left_out) body.append(make("p", { className: "faint", textContent: `${detail.pictures_left_out} pictures are in the trace: the report has no room for them.` }));
  if (detail.final_text) body.append(make("pre", { textContent: detail.final_text }));
  body.addEventListener("keydown", player.key);
  player.seekStep(0);
  return player;
}

function watch(detail, pictures, film, video) {
  const { decisions } = detail;
  let shown = null;
  const at = (step) => decisions.findLast((decision) => decision.start <= step) || decisions[0];
  const show = (step) => {
    const decision = at(step);
    line.move(step, decision);
    if (decision === shown) return;
    shown = decision;
    moment.show(decision);
    if (map) map.show(decision);
    if (layer) drawWays(layer, decision);
    list.rows.forEach((row, index) => row.classList.toggle("current", index === decision.index));
    const row = list.rows[decision.index].getBoundingClientRect(), box = list.box.getBoundingClientRect();
    if (row.top < box.top + 30 || row.bottom > box.bottom) list.box.scrollTop += row.top - box.top - 40;
  };
  const player = { moved: null };
  const seekStep = (step) => {
    if (video) {
      video.pause();
      video.currentTime = (Math.floor(step) + 0.5) / detail.fps;
    }
    show(step);
  };
  // What a person does here may be followed elsewhere; what follows is not passed on again.
  const seek = (step) => {
    seekStep(step);
    if (player.moved) player.moved(step);
  };
  const go = (index) => seek(decisions[Math.min(Math.max(index, 0), decisions.length - 1)].start);

  const line = timeline(decisions, detail.steps, detail.threshold, seek);
  const moment = momentPanel(detail, go);
  const map = mapPanel(detail, pictures, go);
  const { layer, note } = waysLayer(detail, video ? film : null);
  const list = decisions.some((decision) => decision.turns) ? transcript(decisions, pictures, go) : decisionTable(decisions, go);
  if (detail.left_out) list.box.append(make("p", { className: "faint", textContent: `${detail.left_out} more decisions are in the trace.` }));
  if (video) {
    const follow = () => {
      if (!video.seeking) show(Math.min(video.currentTime * detail.fps, detail.steps - 1e-6));
      if (!video.paused) requestAnimationFrame(follow);
    };
    for (const name of ["play", "seeked"]) video.addEventListener(name, follow);
  }
  if (map) moment.node.append(map.node);
  const stage = make("div", { className: film ? "watch" : "" }, film ? make("div", { className: "screen" }, film, note) : null, moment.node);
  const key = (event) => {
    if (event.target.closest("video, input, select, pre") || event.altKey || event.ctrlKey || event.metaKey) return;
    const moves = { ArrowLeft: () => go(shown.index - 1), ArrowRight: () => go(shown.index + 1) };
    if (event.target.closest(".slider")) {
      Object.assign(moves, { Home: () => go(0), End: () => go(decisions.length - 1) });
      if (video) moves[" "] = () => (video.paused ? video.play() : video.pause());
    }
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  };
  return Object.assign(player, { node: make("div", {}, stage, line.slider, line.legend, list.box), seekStep, key });
}

for (const episode of episodes) {
  episode.addEventListener("toggle", () => {
    const bodies = [...episode.querySelectorAll(".body")];
    if (!episode.open || bodies.some((body) => body.childElementCount)) return;
    const players = bodies.filter((body) => body.dataset.key).map((body) => fill(body, body.dataset.key)).filter(Boolean);
    // The two episodes of a pair are looked at at the same step.
    for (const player of players) player.moved = (step) => players.filter((other) => other !== player).forEach((other) => other.seekStep(step));
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
