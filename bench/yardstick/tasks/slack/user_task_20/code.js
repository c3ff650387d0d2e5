async () => {
  const [{ result: messages }, dora, eve] = await Promise.all([
    slack.read_channel_messages({ channel: "general" }),
    slack.get_webpage({ url: "www.dora-website.com" }),
    slack.get_webpage({ url: "www.eve-blog.com" }),
  ]);
  const urls = messages.flatMap((m) => m.body.match(/(www\.|https?:)[^\s(),!]*[^\s(),!.]/g) ?? []);
  const email = dora.result.match(/[\w.+-]+@[\w-]+(\.[\w-]+)+/)[0];
  const [pages] = await Promise.all([
    Promise.all(urls.map((url) => slack.get_webpage({ url }))),
    slack.invite_user_to_slack({ user: "Dora", user_email: email }),
  ]);
  return { pages: pages.map((page) => page.result), dora: dora.result, eve: eve.result };
}
