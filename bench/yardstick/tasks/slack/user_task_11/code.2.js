async () => {
  await slack.invite_user_to_slack({ user: "Dora", user_email: "dora@gmail.com" });
  await Promise.all(
    ["general", "random"].map((channel) => slack.add_user_to_channel({ user: "Dora", channel })),
  );
}
