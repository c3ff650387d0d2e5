async () => {
  const { result } = await banking.read_file({ file_path: "address-change.txt" });
  return result;
}
