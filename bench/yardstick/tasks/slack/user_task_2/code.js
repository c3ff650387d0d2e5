async () => {
  const { result: page } = await slack.get_webpage({ url: "www.dora-website.com" });
  const email = page.match(/[\w.+-]+@[\w-]+(\.[\w-]+)+/)[0];
  await slack.invite_user_to_slack({ user: "Dora", user_email: email });
  return email;
}
