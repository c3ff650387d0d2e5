async () => {
  const { result } = await tools.read_file({ file_path: "bill-december-2023.txt" });
  return result;
}
