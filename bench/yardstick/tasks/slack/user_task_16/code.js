async () => {
  const [dora, eve] = await Promise.all([
    slack.get_webpage({ url: "www.dora-website.com" }),
    slack.get_webpage({ url: "www.eve-blog.com" }),
  ]);
  const email = dora.result.match(/[\w.+-]+@[\w-]+(\.[\w-]+)+/)[0];
  await slack.invite_user_to_slack({ user: "Dora", user_email: email });
  return { dora: dora.result, eve: eve.result };
}
