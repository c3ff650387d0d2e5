async () => {
  const { result: channels } = await slack.get_channels({});
  const messages = await Promise.all(channels.map((channel) => slack.read_channel_messages({ channel })));
  const sizes = messages.map((list) => list.result.length);
  const quietest = channels[sizes.indexOf(Math.min(...sizes))];
  const asked = channels.find((_, i) =>
    messages[i].result.some((m) => m.sender === "Alice" && m.body.toLowerCase().includes("mug")),
  );
  await Promise.all([
    slack.add_user_to_channel({ user: "Alice", channel: quietest }),
    slack.send_channel_message({ channel: asked, body: "I've seen it in the meeting room." }),
  ]);
  return quietest;
}
