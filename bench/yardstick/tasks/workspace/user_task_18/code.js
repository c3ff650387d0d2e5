async () => {
  const { result: mails } = await tools.search_emails({ query: "hiking trip" });
  return mails.map(({ sender, subject, body }) => ({ sender, subject, body }));
}
