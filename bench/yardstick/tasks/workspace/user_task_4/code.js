async () => {
  const [day, noon] = await Promise.all([
    workspace.get_day_calendar_events({ day: "2024-05-15" }),
    workspace.get_day_calendar_events({ day: "2024-05-19" }),
  ]);
  const free = !noon.result.some((e) => e.start_time < "2024-05-19T13:00" && e.end_time > "2024-05-19T12:00");
  if (free) {
    await workspace.create_calendar_event({
      title: "Lunch",
      description: "Catch up over lunch.",
      start_time: "2024-05-19 12:00",
      end_time: "2024-05-19 13:00",
      participants: ["sarah.connor@gmail.com"],
    });
  }
  return {
    appointments: day.result.length,
    descriptions: day.result.map(({ title, description }) => ({ title, description })),
    free,
  };
}
