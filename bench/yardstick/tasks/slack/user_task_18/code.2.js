async () => {
  const [{ result: messages }, { result: channels }] = await Promise.all([
    slack.read_channel_messages({ channel: "general" }),
    slack.get_channels({}),
  ]);
  const message = messages.find((m) => m.sender === "Bob" && /www\.|https?:/.test(m.body));
  const url = message.body.match(/(www\.|https?:)[^\s(),!]*[^\s(),!.]/)[0];
  const [article, ...users] = await Promise.all([
    slack.get_webpage({ url }),
    ...channels.map((channel) => slack.get_users_in_channel({ channel })),
  ]);
  const sizes = users.map((list) => list.result.length);
  const channel = channels[sizes.indexOf(Math.max(...sizes))];
  await slack.send_channel_message({ channel, body: "Hi, can everybody write me their favorite hobby in DM?" });
  return article.result;
}
