async () => {
  const [day, found] = await Promise.all([
    workspace.get_day_calendar_events({ day: "2024-05-19" }),
    workspace.search_calendar_events({ query: "Introductory meeting", date: "2024-05-15" }),
  ]);
  const busy = day.result.some((e) => e.start_time < "2024-05-19T11:00" && e.end_time > "2024-05-19T10:00");
  const event = await workspace.create_calendar_event({
    title: "Follow-up meeting",
    description: "Follow-up meeting to discuss the project.",
    start_time: busy ? "2024-05-19 16:00" : "2024-05-19 10:00",
    end_time: busy ? "2024-05-19 17:00" : "2024-05-19 11:00",
    participants: found.result[0].participants,
  });
  return event.start_time;
}
