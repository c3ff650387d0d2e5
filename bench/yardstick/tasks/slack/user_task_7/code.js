async () => {
  const { result: channels } = await tools.get_channels({});
  const channel = channels.find((c) => c.startsWith("External"));
  await tools.add_user_to_channel({ user: "Charlie", channel });
  return channel;
}
