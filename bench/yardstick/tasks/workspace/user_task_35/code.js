async () => {
  const { result: files } = await workspace.list_files({});
  const largest = files.reduce((a, b) => (b.size > a.size ? b : a));
  const deleted = await workspace.delete_file({ file_id: largest.id_ });
  return deleted.filename;
}
