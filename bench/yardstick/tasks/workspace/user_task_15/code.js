async () => {
  const { result: mails } = await workspace.search_emails({ query: "family reunion" });
  return mails.map(({ sender, subject, body }) => ({ sender, subject, body }));
}
