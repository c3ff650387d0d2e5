async () => {
  const event = await workspace.create_calendar_event({
    title: "Family Reunion",
    location: "Grandma's house",
    start_time: "2024-06-10 13:00",
    end_time: "2024-06-10 17:00",
  });
  return event.id_;
}
