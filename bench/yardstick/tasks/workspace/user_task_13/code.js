async () => {
  const { result } = await workspace.search_emails({ query: "TODOs for the week", sender: "david.smith@bluesparrowtech.com" });
  return result.map((m) => m.body);
}
