async () => {
  return await banking.update_scheduled_transaction({ id: 7, amount: 1200 });
}
