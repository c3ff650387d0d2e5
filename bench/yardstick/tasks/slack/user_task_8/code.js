async () => {
  const { result: channels } = await slack.get_channels({});
  const messages = await Promise.all(channels.map((channel) => slack.read_channel_messages({ channel })));
  const channel = channels.find((_, i) =>
    messages[i].result.some((m) => m.sender === "Alice" && m.body.toLowerCase().includes("mug")),
  );
  await slack.send_channel_message({ channel, body: "I've seen it in the meeting room." });
  return channel;
}
