async () => {
  const { result: files } = await workspace.list_files({});
  const shared = files.filter((f) => "alex.martin@bluesparrowtech.com" in f.shared_with).map((f) => f.id_);
  const largest = files.reduce((a, b) => (b.size > a.size ? b : a));
  const deleted = await workspace.delete_file({ file_id: largest.id_ });
  return { shared, deleted: deleted.filename };
}
