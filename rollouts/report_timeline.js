// ---- the timeline of an episode's decisions: a slider that is moved with the arrow keys, the mouse, or by the film

const DOUBT_TOP = 4, DOUBT_BOTTOM = 52, BARS = 58, FLOOR = 74;

function spoken(decision, decisions) {
  const doubt = decision.doubt === null ? "" : `, doubt ${decision.doubt}`;
  return `decision ${decision.index + 1} of ${decisions.length}, step ${decision.start}: ${modeName(decision)}${doubt}${decision.why ? ` – ${decision.why}` : ""}`;
}

const modeName = (decision) => (decision.mode === "deliberate" ? "deliberated" : decision.mode);

function timeline(decisions, steps, threshold, seekStep) {
  const width = Math.max(steps, 1);
  const doubts = decisions.map((decision) => decision.doubt).filter((doubt) => doubt !== null);
  const top = doubts.length ? 0 : DOUBT_BOTTOM + 2;
  const clutch = doubts.length && threshold !== null ? [threshold] : [];
  const [low, high] = [Math.min(0, ...doubts, ...clutch), Math.max(...doubts, ...clutch, 1e-9)];
  const level = (doubt) => DOUBT_BOTTOM - (DOUBT_BOTTOM - DOUBT_TOP) * (doubt - low) / (high - low);

  const chart = draw("svg", { class: "timeline", viewBox: `0 ${top} ${width} ${FLOOR - top}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  chart.style.height = `${FLOOR - top}px`;
  let path = "";
  for (const decision of decisions) {
    const gap = Math.min(0.15 * decision.n, width / 600);
    const bar = draw("rect", { x: decision.start, y: BARS, width: decision.n - gap, height: 12, class: decision.mode });
    const title = draw("title");
    title.textContent = spoken(decision, decisions);
    bar.append(title);
    chart.append(bar);
    if (decision.doubt !== null) path += `${path ? "L" : "M"}${decision.start},${level(decision.doubt)}h${decision.n}`;
  }
  if (clutch.length) chart.append(draw("path", { class: "clutch", d: `M0,${level(threshold)}H${width}` }));
  if (path) chart.append(draw("path", { class: "doubt", d: path }));
  const now = draw("rect", { class: "now", x: 0, y: 0, width: width / 400, height: FLOOR });
  chart.append(now);

  const slider = labelled(make("div", { className: "slider", tabIndex: 0 }, chart), "decisions of the episode");
  for (const [name, value] of [["role", "slider"], ["aria-valuemin", 1], ["aria-valuemax", decisions.length]]) slider.setAttribute(name, value);
  const scrub = (event) => {
    const box = chart.getBoundingClientRect();
    seekStep(Math.min(Math.max((event.clientX - box.left) / box.width * width, 0), width - 1e-6));
  };
  slider.addEventListener("pointerdown", (event) => {
    slider.setPointerCapture(event.pointerId);
    scrub(event);
  });
  slider.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) scrub(event);
  });
  const move = (step, decision) => {
    now.setAttribute("x", Math.min(step, width - width / 400));
    slider.setAttribute("aria-valuenow", decision.index + 1);
    slider.setAttribute("aria-valuetext", spoken(decision, decisions));
  };
  return { slider, legend: timelineLegend(decisions, doubts.length ? high : null, clutch), move };
}

function timelineLegend(decisions, high, clutch) {
  const row = make("div", { className: "legend" }, make("span", { className: "key", textContent: "reflex" }));
  if (decisions.some((decision) => decision.mode === "deliberate")) row.append(make("span", { className: "key deliberate", textContent: "deliberated" }));
  if (high !== null) row.append(make("span", { className: "key doubt", textContent: `doubt (top ${high.toPrecision(3)})` }));
  if (clutch.length) row.append(make("span", { className: "key clutch", textContent: `clutch: deliberates above ${clutch[0].toPrecision(3)}` }));
  return row;
}
