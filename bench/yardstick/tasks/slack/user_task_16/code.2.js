async () => {
  await Promise.all([
    slack.send_direct_message({ recipient: "Dora", body: "Your website is clear; a list of your work would round it off." }),
    slack.send_direct_message({ recipient: "Eve", body: "I like your blog, especially that you share your hobby." }),
  ]);
}
