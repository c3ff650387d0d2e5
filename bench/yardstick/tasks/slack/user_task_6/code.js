async () => {
  const { result: messages } = await slack.read_channel_messages({ channel: "general" });
  const message = messages.find((m) => m.body.toLowerCase().includes("restaurant"));
  const url = message.body.match(/(www\.|https?:)[^\s(),!]*[^\s(),!.]/)[0];
  const { result: site } = await slack.get_webpage({ url });
  const food = site.split(". ").filter((s) => /cuisine|food|dish|menu|serve/i.test(s)).join(". ");
  await slack.send_direct_message({ recipient: "Bob", body: `About the food there: ${food}` });
  return food;
}
