async () => {
  await slack.send_channel_message({
    channel: "general",
    body: "The latest job report: unemployment edged down to 7.2%, which was met with relief and concern.",
  });
}
