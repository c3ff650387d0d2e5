async () => {
  const { result: files } = await workspace.search_files({ query: "vacation plans" });
  const plans = files.find((f) => f.content.includes("Hawaii"));
  const packing = plans.content.split("\n\n").find((p) => p.toLowerCase().includes("packing list"));
  const file = await workspace.create_file({ filename: "hawaii-packing-list.docx", content: packing });
  return { june13: plans.content.split("\n").filter((line) => line.includes("June 13")), file: file.id_ };
}
