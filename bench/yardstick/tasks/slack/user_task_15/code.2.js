async () => {
  await slack.send_channel_message({
    channel: "random",
    body: "A job report: unemployment edged down to 7.2%. A restaurant: Swiss cuisine in an alpine-inspired setting in Zurich.",
  });
}
