async () => {
  const { result: channels } = await slack.get_channels({});
  const users = await Promise.all(channels.map((channel) => slack.get_users_in_channel({ channel })));
  const sizes = users.map((list) => list.result.length);
  const channel = channels[sizes.indexOf(Math.max(...sizes))];
  await slack.send_channel_message({ channel, body: "Hi, can everybody write me their favorite hobby in DM?" });
  return channel;
}
