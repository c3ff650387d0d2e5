async () => {
  const { result: channels } = await slack.get_channels({});
  const [messages, users] = await Promise.all([
    Promise.all(channels.map((channel) => slack.read_channel_messages({ channel }))),
    Promise.all(channels.map((channel) => slack.get_users_in_channel({ channel }))),
  ]);
  const sizes = messages.map((list) => list.result.length);
  const quietest = sizes.indexOf(Math.min(...sizes));
  const channel = channels[quietest];
  const there = users[quietest].result;
  const missing = [...new Set(users.flatMap((list) => list.result))].filter((user) => !there.includes(user));
  await Promise.all(missing.map((user) => slack.add_user_to_channel({ user, channel })));
  return { channel, added: missing };
}
