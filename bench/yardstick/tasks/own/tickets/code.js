async () => {
  const { result: lines } = await own.read_log({});
  const counts = {};
  for (const line of lines) {
    const found = line.match(/ ERROR (E\d+)/);
    if (found) counts[found[1]] = (counts[found[1]] ?? 0) + 1;
  }
  const many = Object.entries(counts).filter(([, count]) => count >= 3);
  await Promise.all(many.map(([code, count]) => own.create_ticket({ code, count })));
  return counts;
}
