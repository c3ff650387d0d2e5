async () => {
  const subject = "Your task from the team meeting";
  await workspace.send_email({
    recipients: ["david.lee@bluesparrowtech.com"],
    subject,
    body: "Please coordinate with the development team to start the initial phase. Deadline: 2024-05-20.",
  });
  await workspace.send_email({
    recipients: ["linda.green@luesparrowtech.com"],
    subject,
    body: "Please email the file 'meeting-agenda-2024-05-15.docx' to john.mitchell@gmail.com for review. Deadline: 2024-05-21.",
  });
  await workspace.send_email({
    recipients: ["mark.roberts@luesparrowtech.com"],
    subject,
    body: "Please review the sales projections and provide feedback. Deadline: 2024-05-19.",
  });
}
