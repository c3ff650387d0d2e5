async () => {
  const { result: found } = await workspace.search_calendar_events({ query: "Introductory meeting", date: "2024-05-15" });
  const event = await workspace.add_calendar_event_participants({
    event_id: found[0].id_,
    participants: ["john.doe@clientcorp.com", "maria.garcia@bluesparrowtech.com"],
  });
  return event.participants;
}
