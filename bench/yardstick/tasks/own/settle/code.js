async () => {
  const balances = await own.get_balances({});
  const transfers = [];
  for (;;) {
    const names = Object.keys(balances).sort((a, b) => balances[a] - balances[b]);
    const payer = names[0];
    const payee = names[names.length - 1];
    if (balances[payer] === 0) break;
    const cents = Math.min(-balances[payer], balances[payee]);
    balances[payer] += cents;
    balances[payee] -= cents;
    transfers.push({ payer, payee, cents });
  }
  await Promise.all(transfers.map((t) => own.transfer(t)));
  return transfers;
}
