async () => {
  const file = await workspace.append_to_file({
    file_id: "3",
    content: "\nActivity 5: Escape room\n  - Description: Teams solve riddles against the clock.\n\nActivity 6: Cooking class\n  - Description: Teams prepare a meal together.\n",
  });
  return file.size;
}
