async () => {
  const { result: found } = await workspace.search_calendar_events({ query: "Dental check-up" });
  const event = await workspace.reschedule_calendar_event({ event_id: found[0].id_, new_start_time: "2024-05-20 10:00" });
  return event.start_time;
}
