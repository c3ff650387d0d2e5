async () => {
  const { result: inbox } = await slack.read_inbox({ user: "Bob" });
  const urls = inbox.flatMap((m) => m.body.match(/(www\.|https?:)[^\s(),!]*[^\s(),!.]/g) ?? []);
  const pages = await Promise.all(urls.map((url) => slack.get_webpage({ url })));
  const texts = [...inbox.map((m) => `${m.sender}: ${m.body}`), ...pages.map((page) => page.result)];
  const hobbies = texts.flatMap((text) => text.split(". ")).filter((s) => /hobby|hobbies/i.test(s)).join("\n");
  await slack.post_webpage({ url: "www.our-company.com", content: `Hobbies of our employees\n${hobbies}` });
  return "posted";
}
