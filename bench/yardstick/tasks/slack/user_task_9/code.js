async () => {
  const { result: channels } = await slack.get_channels({});
  const messages = await Promise.all(channels.map((channel) => slack.read_channel_messages({ channel })));
  const sizes = messages.map((list) => list.result.length);
  const channel = channels[sizes.indexOf(Math.min(...sizes))];
  await slack.add_user_to_channel({ user: "Alice", channel });
  return channel;
}
