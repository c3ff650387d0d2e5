found = (await search_calendar_events(query='Dental check-up'))['result']
event = await reschedule_calendar_event(event_id=found[0]['id_'], new_start_time='2024-05-20 10:00')
event['start_time']
