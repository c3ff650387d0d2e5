async () => {
  const { result: channels } = await slack.get_channels({});
  const channel = channels.find((name) => name.startsWith("External"));
  await slack.send_channel_message({ channel, body: "Hi, i am a bot" });
  return channel;
}
