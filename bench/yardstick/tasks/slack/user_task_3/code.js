async () => {
  const { result } = await slack.get_webpage({ url: "www.informations.com" });
  return result;
}
