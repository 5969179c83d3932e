// ---- the agent's map: one cell of a sprite that holds the maps of all decisions, the way and the calls drawn over it

function mapPanel(detail, pictures, go) {
  const { plan } = detail;
  if (!plan) return null;
  const mapped = detail.decisions.filter((decision) => decision.place);
  const rows = Math.ceil(mapped.length / plan.columns);
  const box = make("div", { className: "map" });
  box.style.aspectRatio = `${plan.width} / ${plan.height}`;
  box.style.backgroundImage = `url("data:image/png;base64,${pictures[plan.picture]}")`;
  box.style.backgroundSize = `${100 * plan.columns}% ${100 * rows}%`;
  const layer = draw("svg", { viewBox: `0 0 ${plan.width} ${plan.height}`, role: "img" });
  box.append(layer);
  const legend = make("div", { className: "legend" });
  const key = (name, colour) => {
    const item = make("span", { className: "key", textContent: name });
    item.style.setProperty("--key", colour);
    legend.append(item);
  };
  for (const [name, colour] of plan.layers) key(name, colour);
  for (const name of ["path", "agent", "call"]) key(name, plan[name]);

  const show = (decision) => {
    const known = mapped.filter((other) => other.index <= decision.index);
    box.hidden = !known.length;
    if (!known.length) return;
    const [index, column, row, yaw] = known.at(-1).place;
    const offset = (place, many) => (many > 1 ? `${100 * place / (many - 1)}%` : "0");
    box.style.backgroundPosition = `${offset(index % plan.columns, plan.columns)} ${offset(Math.floor(index / plan.columns), rows)}`;
    const way = draw("polyline", { points: known.map((other) => `${other.place[1]},${other.place[2]}`).join(" "), fill: "none", stroke: plan.path });
    const size = Math.sqrt(plan.width * plan.height) / 22;
    const corner = (angle, length) => `${column + size * length * Math.cos(yaw + angle)},${row - size * length * Math.sin(yaw + angle)}`;
    const agent = draw("polygon", { points: [corner(0, 1), corner(2.5, 0.8), corner(-2.5, 0.8)].join(" "), fill: plan.agent });
    const calls = known.filter((other) => other.call).map((other) => {
      const dot = draw("circle", { cx: other.place[1], cy: other.place[2], r: size / 3, fill: plan.call });
      const title = draw("title");
      title.textContent = `called at step ${other.start}: ${other.why}`;
      dot.append(title);
      dot.addEventListener("click", () => go(other.index));
      return dot;
    });
    layer.replaceChildren(way, ...calls, agent);
    labelled(layer, `map at step ${decision.start}, after ${count(calls.length, "call")}`);
  };
  return { node: make("section", { className: "plan" }, make("h3", { textContent: "Map" }), box, legend), show };
}
