// ---- who said what: the turns of every decision beside the picture that the model saw

function plainWords(text) {
  // A critique is recorded as the JSON that it was: its fields read better apart.
  try {
    const value = JSON.parse(text);
    if (value === null || typeof value !== "object" || Array.isArray(value)) return text;
    const words = (field) => (Array.isArray(field) ? field.join(" · ") || "nothing" : typeof field === "object" ? JSON.stringify(field) : String(field));
    return Object.entries(value).map(([name, field]) => `${spaced(name)}: ${words(field)}`).join("\n");
  } catch {
    return text;
  }
}

function turnItem({ stage, who, text, tokens, rejected }) {
  const head = make("p", { className: "who" }, make("b", { textContent: stage }), make("span", { className: "faint", textContent: ` ${who}` }));
  if (tokens) head.append(make("span", { className: "faint", textContent: ` ${tokens[0]} + ${tokens[1]} tokens` }));
  const item = make("li", { className: "turn" }, head, make("p", { className: "said", textContent: plainWords(text) }));
  item.dataset.stage = stage;
  for (const words of rejected || []) item.append(make("p", { className: "rejected", textContent: `rejected: ${words}` }));
  return item;
}

function tokensOf(cost) {
  return (cost.prompt_tokens || 0) + (cost.completion_tokens || 0);
}

function exchange(decision, pictures, go) {
  const said = [];
  if (decision.text) said.push({ stage: "world", who: "", text: decision.text });
  said.push(...(decision.turns || []));
  const decided = said.length && decision.actions && said.at(-1).text === decision.actions.join(" · ");
  if (decision.actions && !decided) said.push({ stage: "action", who: "", text: decision.actions.join(" · ") });
  const step = make("button", { type: "button", textContent: `step ${decision.start}` });
  step.addEventListener("click", () => go(decision.index));
  const words = [count(decision.questions || 0, "question"), count(tokensOf(decision.cost), "token"), duration(decision.seconds), decision.why];
  const seen = Object.entries(decision.seen || {}).map(([camera, index]) => make("figure", {},
    make("img", { src: `data:image/webp;base64,${pictures[index]}`, alt: `what the model saw at step ${decision.start}, camera ${camera}` }),
    make("figcaption", { textContent: camera })));
  return make("article", { className: `exchange ${decision.mode}` },
    make("h3", {}, step, make("span", { className: "faint", textContent: words.filter(Boolean).join(" · ") })),
    make("div", { className: "beside" }, seen.length ? make("div", {}, ...seen) : null, make("ol", {}, ...said.map(turnItem))));
}

function transcript(decisions, pictures, go) {
  const rows = decisions.map((decision) => exchange(decision, pictures, go));
  return { box: labelled(make("div", { className: "decisions transcript", tabIndex: 0 }, ...rows), "transcript"), rows };
}
