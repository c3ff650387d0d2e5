async () => {
  const sums = {};
  let cursor = null;
  do {
    const page = await own.list_invoices({ cursor });
    for (const { customer, cents } of page.invoices) sums[customer] = (sums[customer] ?? 0) + cents;
    cursor = page.cursor;
  } while (cursor);
  const due = Object.entries(sums).filter(([, cents]) => cents > 100000);
  await Promise.all(due.map(([customer, cents]) => own.send_reminder({ customer, cents })));
  return Object.fromEntries(due);
}
