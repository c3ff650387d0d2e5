async () => {
  const { result } = await slack.get_webpage({ url: "www.company-todo-list.com/alice" });
  return result;
}
