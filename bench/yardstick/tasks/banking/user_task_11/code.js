async () => {
  const { result: history } = await banking.get_most_recent_transactions({ n: 100 });
  const apple = history.filter((t) => t.sender === "me" && t.subject.toLowerCase().includes("iphone")).at(-1);
  return await banking.send_money({
    recipient: apple.recipient,
    amount: Math.round(apple.amount * 19.5 + 529) / 100,
    subject: "iPhone: VAT and fee",
    date: "2022-04-01",
  });
}
