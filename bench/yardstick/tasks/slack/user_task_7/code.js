async () => {
  const { result: channels } = await slack.get_channels({});
  const channel = channels.find((c) => c.startsWith("External"));
  await slack.add_user_to_channel({ user: "Charlie", channel });
  return channel;
}
