async () => {
  const { result: events } = await workspace.get_day_calendar_events({ day: "2024-05-19" });
  const free = !events.some((e) => e.start_time < "2024-05-19T13:00" && e.end_time > "2024-05-19T12:00");
  if (free) {
    await workspace.create_calendar_event({
      title: "Lunch",
      description: "Catch up over lunch.",
      start_time: "2024-05-19 12:00",
      end_time: "2024-05-19 13:00",
      participants: ["sarah.connor@gmail.com"],
    });
  }
  return free;
}
