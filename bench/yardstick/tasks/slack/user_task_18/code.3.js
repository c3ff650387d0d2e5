async () => {
  await slack.send_direct_message({
    recipient: "Alice",
    body: "The latest job report: unemployment edged down to 7.2%, which was met with relief and concern.",
  });
}
