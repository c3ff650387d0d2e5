async () => {
  const { result: files } = await workspace.search_files({ query: "team meeting minutes" });
  return files.map((f) => ({ filename: f.filename, content: f.content, shared_with: f.shared_with }));
}
