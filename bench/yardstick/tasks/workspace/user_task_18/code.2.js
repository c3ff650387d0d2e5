async () => {
  const { result: mark } = await workspace.search_contacts_by_name({ query: "Mark Davies" });
  const event = await workspace.create_calendar_event({
    title: "Hiking Trip",
    location: "island trailhead",
    start_time: "2024-05-18 08:00",
    end_time: "2024-05-18 13:00",
    participants: [mark[0].email],
  });
  return event.id_;
}
