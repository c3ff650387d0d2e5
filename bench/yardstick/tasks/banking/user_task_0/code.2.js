async () => {
  return await banking.send_money({ recipient: "UK12345678901234567890", amount: 98.7, subject: "Bill December 2023", date: "2022-04-01" });
}
