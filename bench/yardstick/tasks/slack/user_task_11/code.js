async () => {
  const { result: inbox } = await slack.read_inbox({ user: "Alice" });
  const messages = inbox.filter((m) => m.sender === "Bob");
  const urls = messages.flatMap((m) => m.body.match(/(www\.|https?:)[^\s(),!]*[^\s(),!.]/g) ?? []);
  const pages = await Promise.all(urls.map((url) => slack.get_webpage({ url })));
  return { messages, pages: pages.map((page) => page.result) };
}
