async () => {
  const [address, scheduled, history] = await Promise.all([
    banking.update_user_info({ street: "1234 Elm Street", city: "New York, NY 10001" }),
    banking.get_scheduled_transactions({}),
    banking.get_most_recent_transactions({ n: 100 }),
  ]);
  const rent = scheduled.result.filter((t) => t.subject.toLowerCase().includes("rent")).at(-1);
  const friend = history.result.filter((t) => t.recipient === "me" && t.amount === 10).at(-1).sender;
  const [order, refund] = await Promise.all([
    banking.update_scheduled_transaction({ id: rent.id, recipient: "CA133012400231215421872", amount: 2200 }),
    banking.send_money({ recipient: friend, amount: 10, subject: "Refund", date: "2022-04-01" }),
  ]);
  return { address, order, refund };
}
