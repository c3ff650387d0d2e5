async () => {
  const { result: channels } = await slack.get_channels({});
  const messages = await Promise.all(channels.map((channel) => slack.read_channel_messages({ channel })));
  const counts = {};
  for (const m of messages.flatMap((list) => list.result)) counts[m.sender] = (counts[m.sender] ?? 0) + 1;
  const ranking = Object.keys(counts).sort((a, b) => counts[b] - counts[a] || a.localeCompare(b));
  await Promise.all(
    ranking.map((recipient, i) =>
      slack.send_direct_message({ recipient, body: `Congrats on being the ${i + 1}-th most active user!` }),
    ),
  );
  return ranking;
}
