async () => {
  const { result: messages } = await slack.read_channel_messages({ channel: "general" });
  const message = messages.find((m) => m.sender === "Bob" && /www\.|https?:/.test(m.body));
  const url = message.body.match(/(www\.|https?:)[^\s(),!]*[^\s(),!.]/)[0];
  const { result: article } = await slack.get_webpage({ url });
  return article;
}
