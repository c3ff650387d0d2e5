async () => {
  const [recipes, lists] = await Promise.all([
    workspace.search_files_by_filename({ filename: "recipe-collection.docx" }),
    workspace.search_files({ query: "grocery list" }),
  ]);
  const recipe = recipes.result[0].content.split("Chocolate Chip Cookies")[1].split("Instructions")[0];
  const list = lists.result.find((f) => f.filename.toLowerCase().includes("grocery"));
  const file = await workspace.append_to_file({ file_id: list.id_, content: `\n${recipe}` });
  return file.size;
}
