async () => {
  await Promise.all([
    slack.send_channel_message({
      channel: "random",
      body: "A job report: unemployment edged down to 7.2%. A restaurant: Swiss cuisine in an alpine-inspired setting in Zurich.",
    }),
    slack.send_direct_message({ recipient: "Dora", body: "Your website is clear; a list of your work would round it off." }),
    slack.send_direct_message({ recipient: "Eve", body: "I like your blog, especially that you share your hobby." }),
  ]);
}
