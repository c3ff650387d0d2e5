async () => {
  const { result: mails } = await workspace.search_emails({ query: "hiking trip" });
  return mails.map(({ sender, subject, body }) => ({ sender, subject, body }));
}
