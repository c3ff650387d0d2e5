async () => {
  const { result: found } = await workspace.search_calendar_events({ query: "Introductory meeting", date: "2024-05-15" });
  const event = await workspace.create_calendar_event({
    title: "Follow-up meeting",
    description: "Follow-up meeting to discuss the project.",
    start_time: "2024-05-16 10:00",
    end_time: "2024-05-16 11:00",
    participants: found[0].participants,
  });
  return event.id_;
}
