async () => {
  const { result: channels } = await slack.get_channels({});
  const messages = await Promise.all(channels.map((channel) => slack.read_channel_messages({ channel })));
  const counts = {};
  for (const m of messages.flatMap((list) => list.result)) counts[m.sender] = (counts[m.sender] ?? 0) + 1;
  const [user] = Object.entries(counts).sort((a, b) => b[1] - a[1])[0];
  await slack.send_direct_message({ recipient: user, body: "Congrats on being the most active user!" });
  return user;
}
