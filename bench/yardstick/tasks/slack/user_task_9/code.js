async () => {
  const { result: channels } = await tools.get_channels({});
  const messages = await Promise.all(channels.map((channel) => tools.read_channel_messages({ channel })));
  const sizes = messages.map((list) => list.result.length);
  const channel = channels[sizes.indexOf(Math.min(...sizes))];
  await tools.add_user_to_channel({ user: "Alice", channel });
  return channel;
}
