async () => {
  const { result: roads } = await own.get_roads({});
  const next = {};
  for (const [a, b, km] of roads) {
    (next[a] ??= []).push([b, km]);
    (next[b] ??= []).push([a, km]);
  }
  const best = { A: [0, ["A"]] };
  const open = new Set(["A"]);
  while (open.size) {
    const here = [...open].sort((a, b) => best[a][0] - best[b][0])[0];
    open.delete(here);
    for (const [there, km] of next[here]) {
      const length = best[here][0] + km;
      if (!best[there] || length < best[there][0]) {
        best[there] = [length, [...best[here][1], there]];
        open.add(there);
      }
    }
  }
  const way = best.G[1];
  for (let i = 1; i < way.length; i++) await own.book_leg({ start: way[i - 1], end: way[i] });
  return { way, km: best.G[0] };
}
