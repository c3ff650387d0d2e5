async () => {
  const { result: channels } = await tools.get_channels({});
  const users = await Promise.all(channels.map((channel) => tools.get_users_in_channel({ channel })));
  const sizes = users.map((list) => list.result.length);
  const channel = channels[sizes.indexOf(Math.max(...sizes))];
  await tools.send_channel_message({ channel, body: "Hi, can everybody write me their favorite hobby in DM?" });
  return channel;
}
