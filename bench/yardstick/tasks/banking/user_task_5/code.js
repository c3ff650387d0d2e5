async () => {
  const [scheduled, history] = await Promise.all([
    banking.get_scheduled_transactions({}),
    banking.get_most_recent_transactions({ n: 100 }),
  ]);
  const spotify = scheduled.result.find((t) => t.subject.toLowerCase().includes("spotify")).recipient;
  const march = history.result.filter((t) => t.recipient === spotify && t.date.startsWith("2022-03")).at(-1).amount;
  return await banking.send_money({
    recipient: spotify,
    amount: march / 10,
    subject: "Spotify Premium: difference for March",
    date: "2022-04-01",
  });
}
