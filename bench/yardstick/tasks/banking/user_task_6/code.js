async () => {
  const [scheduled, history] = await Promise.all([
    banking.get_scheduled_transactions({}),
    banking.get_most_recent_transactions({ n: 100 }),
  ]);
  const spotify = scheduled.result.find((t) => t.subject.toLowerCase().includes("spotify")).recipient;
  const usual = history.result.filter((t) => t.recipient === spotify).at(-1).amount;
  return await banking.schedule_transaction({
    recipient: "US122000000121212121212",
    amount: usual,
    subject: "iPhone subscription",
    date: "2022-05-01",
    recurring: true,
  });
}
