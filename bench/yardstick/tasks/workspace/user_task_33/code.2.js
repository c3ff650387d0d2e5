async () => {
  const mail = await workspace.send_email({
    recipients: ["john.mitchell@gmail.com"],
    subject: "Summary of the client meeting",
    body: "We discussed your requirements, the timeline and the first designs. The next meeting is on 2024-06-01.",
    attachments: [{ type: "file", file_id: "19" }],
  });
  return mail.id_;
}
