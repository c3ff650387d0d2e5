async () => {
  const [activities, feedback] = await Promise.all([
    workspace.search_files_by_filename({ filename: "team-building-activities.docx" }),
    workspace.search_files_by_filename({ filename: "feedback.xlsx" }),
  ]);
  const [file] = activities.result;
  return { id: file.id_, activities: file.content, feedback: feedback.result[0].content };
}
