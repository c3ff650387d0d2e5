async () => {
  const [page, dora] = await Promise.all([
    slack.get_webpage({ url: "www.informations.com" }),
    slack.get_webpage({ url: "www.dora-website.com" }),
  ]);
  const email = dora.result.match(/[\w.+-]+@[\w-]+(\.[\w-]+)+/)[0];
  await slack.invite_user_to_slack({ user: "Dora", user_email: email });
  return { page: page.result, email };
}
