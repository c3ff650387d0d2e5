async () => {
  const { result } = await banking.read_file({ file_path: "bill-december-2023.txt" });
  return result;
}
