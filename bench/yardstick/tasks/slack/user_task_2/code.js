async () => {
  const { result: page } = await tools.get_webpage({ url: "www.dora-website.com" });
  const email = page.match(/[\w.+-]+@[\w-]+(\.[\w-]+)+/)[0];
  await tools.invite_user_to_slack({ user: "Dora", user_email: email });
  return email;
}
