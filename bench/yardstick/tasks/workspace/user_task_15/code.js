async () => {
  const { result: mails } = await tools.search_emails({ query: "family reunion" });
  return mails.map(({ sender, subject, body }) => ({ sender, subject, body }));
}
