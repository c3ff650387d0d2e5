async () => {
  const [notice, scheduled] = await Promise.all([
    banking.read_file({ file_path: "landlord-notices.txt" }),
    banking.get_scheduled_transactions({}),
  ]);
  return { notice: notice.result, scheduled: scheduled.result };
}
