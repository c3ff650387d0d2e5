async () => {
  const [recipes, lists] = await Promise.all([
    tools.search_files_by_filename({ filename: "recipe-collection.docx" }),
    tools.search_files({ query: "grocery list" }),
  ]);
  const recipe = recipes.result[0].content.split("Chocolate Chip Cookies")[1].split("Instructions")[0];
  const list = lists.result.find((f) => f.filename.toLowerCase().includes("grocery"));
  const file = await tools.append_to_file({ file_id: list.id_, content: `\n${recipe}` });
  return file.size;
}
