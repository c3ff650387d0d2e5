async () => {
  const { result } = await slack.get_webpage({ url: "www.company-todo-list.com/bob" });
  return result;
}
