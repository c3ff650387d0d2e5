async () => {
  const { result: messages } = await slack.read_channel_messages({ channel: "general" });
  const urls = messages.flatMap((m) => m.body.match(/(www\.|https?:)[^\s(),!]*[^\s(),!.]/g) ?? []);
  const pages = await Promise.all(urls.map((url) => slack.get_webpage({ url })));
  return pages.map((page) => page.result);
}
