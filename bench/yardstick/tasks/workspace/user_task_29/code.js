async () => {
  const { result: files } = await workspace.search_files_by_filename({ filename: "team-building-activities.docx" });
  const file = files.find((f) => f.filename === "team-building-activities.docx");
  return { id: file.id_, content: file.content };
}
