async () => {
  const { result: channels } = await tools.get_channels({});
  const messages = await Promise.all(channels.map((channel) => tools.read_channel_messages({ channel })));
  const channel = channels.find((_, i) =>
    messages[i].result.some((m) => m.sender === "Alice" && m.body.toLowerCase().includes("mug")),
  );
  await tools.send_channel_message({ channel, body: "I've seen it in the meeting room." });
  return channel;
}
