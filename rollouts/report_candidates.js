// ---- candidates: the critic's preferences as a heat map, and the candidates' ways over the film

// The trace's upper half, row by row, as a whole table of percent; null where a pair was not compared.
function preferenceTable(decision) {
  const size = decision.candidates, values = decision.preferences.values();
  const table = Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => (i === j ? 50 : null)));
  for (let i = 0; i < size; i += 1) {
    for (let j = i + 1; j < size; j += 1) {
      const { value } = values.next();
      if (value === null) continue;
      table[i][j] = value;
      table[j][i] = 100 - value;
    }
  }
  return table;
}

function share(row, own) {
  const known = row.filter((value, index) => value !== null && index !== own);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

function heatMap(decision) {
  const table = preferenceTable(decision), size = table.length, margin = 1.2;
  const chart = draw("svg", { class: "heat", viewBox: `0 0 ${size + margin} ${size + margin}`, role: "img" });
  chart.style.width = `${Math.min(220, 40 + 36 * size)}px`;
  const label = (text, x, y) => {
    const words = draw("text", { x, y });
    words.textContent = text;
    chart.append(words);
  };
  table.forEach((row, i) => {
    label(i, 0.6, i + margin + 0.7);
    label(i, i + margin + 0.5, 0.85);
    row.forEach((value, j) => {
      const cell = draw("rect", { x: j + margin, y: i + margin, width: 0.94, height: 0.94, class: value === null ? "unknown" : "cell" });
      if (value !== null) cell.style.fillOpacity = value / 100;
      const title = draw("title");
      title.textContent = i === j ? `candidate ${i}` : value === null ? `${i} and ${j} were not compared` : `${i} better than ${j}: ${value}%`;
      cell.append(title);
      chart.append(cell);
    });
  });
  if (decision.chosen !== null) chart.append(draw("rect", { class: "chosen", x: margin - 0.03, y: decision.chosen + margin - 0.03, width: size, height: 1 }));
  const ranked = table.map((row, i) => [i, share(row, i)]).filter(([, mean]) => mean !== null).sort((a, b) => b[1] - a[1]);
  const words = ranked.slice(0, 5).map(([i, mean]) => `${i} (${Math.round(mean)}%)`).join(", ");
  labelled(chart, `preferences of the critic among ${size} candidates; best on average: ${words}`);
  return make("figure", { className: "preferences" }, chart,
    make("figcaption", { textContent: `Probability that the row is better than the column; outlined: chosen. Best on average: ${words}` }));
}

function candidatesPanel(decision) {
  if (!decision.candidates) return null;
  const chosen = decision.chosen === null ? "what was executed is none of them" : `candidate ${decision.chosen} was executed${decision.chosen === 0 ? " (the reflex)" : ""}`;
  const words = `${count(decision.candidates, "candidate")}; ${chosen}`;
  return make("section", { className: "candidates" }, make("h3", { textContent: "Candidates" }), make("p", { textContent: words }),
    decision.preferences ? heatMap(decision) : null);
}

function points(flat) {
  const pairs = [];
  for (let index = 0; index + 1 < flat.length; index += 2) pairs.push(`${flat[index]},${flat[index + 1]}`);
  return pairs.join(" ");
}

function drawWays(layer, decision) {
  layer.replaceChildren();
  if (!decision.ways) return;
  const executed = decision.chosen === null ? decision.ways.length - 1 : decision.chosen;
  const order = decision.ways.map((_, index) => index).filter((index) => index !== executed);
  for (const index of [...order, executed]) {
    const kind = index === executed ? "executed" : index === 0 ? "reflex" : "other";
    for (const line of decision.ways[index]) {
      if (kind !== "other") layer.append(draw("polyline", { class: "halo", points: points(line) }));
      layer.append(draw("polyline", { class: kind, points: points(line) }));
    }
  }
}
