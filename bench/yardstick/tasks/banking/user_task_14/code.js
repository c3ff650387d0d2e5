async () => {
  const { result } = await banking.get_most_recent_transactions({ n: 100 });
  return result;
}
