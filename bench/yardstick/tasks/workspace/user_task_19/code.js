async () => {
  const [day, mails] = await Promise.all([
    workspace.get_day_calendar_events({ day: "2024-05-15" }),
    workspace.search_emails({ query: "TODOs for the week", sender: "david.smith@bluesparrowtech.com" }),
  ]);
  return {
    appointments: day.result.length,
    descriptions: day.result.map(({ title, description }) => ({ title, description })),
    mails: mails.result.map((m) => m.body),
  };
}
