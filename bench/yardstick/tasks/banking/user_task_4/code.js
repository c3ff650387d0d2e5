async () => {
  const { result: history } = await banking.get_most_recent_transactions({ n: 100 });
  const friend = "GB29NWBK60161331926819";
  const received = history.filter((t) => t.sender === friend).at(-1).amount;
  return await banking.send_money({ recipient: friend, amount: received, subject: "Refund", date: "2022-04-01" });
}
