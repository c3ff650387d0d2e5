events = (await get_day_calendar_events(day='2024-05-19'))['result']
free = not any(e['start_time'] < '2024-05-19T13:00' and e['end_time'] > '2024-05-19T12:00' for e in events)
if free:
    await create_calendar_event(
        title='Lunch', description='Catch up over lunch.', start_time='2024-05-19 12:00', end_time='2024-05-19 13:00',
        participants=['sarah.connor@gmail.com'],
    )
free
