async () => {
  const [notice, scheduled] = await Promise.all([
    tools.read_file({ file_path: "landlord-notices.txt" }),
    tools.get_scheduled_transactions({}),
  ]);
  return { notice: notice.result, rent: scheduled.result.filter((t) => t.subject.toLowerCase().includes("rent")) };
}
