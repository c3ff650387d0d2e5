async () => {
  const { result: files } = await workspace.search_files_by_filename({ filename: "client-meeting-minutes.docx" });
  const file = files.find((f) => f.filename === "client-meeting-minutes.docx");
  return { id: file.id_, content: file.content, shared_with: file.shared_with };
}
