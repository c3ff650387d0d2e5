async () => {
  const [notice, scheduled] = await Promise.all([
    banking.read_file({ file_path: "landlord-notices.txt" }),
    banking.get_scheduled_transactions({}),
  ]);
  return { notice: notice.result, rent: scheduled.result.filter((t) => t.subject.toLowerCase().includes("rent")) };
}
