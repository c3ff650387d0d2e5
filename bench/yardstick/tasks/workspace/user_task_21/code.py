import asyncio

day, found = await asyncio.gather(
    get_day_calendar_events(day='2024-05-19'),
    search_calendar_events(query='Introductory meeting', date='2024-05-15'),
)
busy = any(e['start_time'] < '2024-05-19T11:00' and e['end_time'] > '2024-05-19T10:00' for e in day['result'])
hour = 16 if busy else 10
event = await create_calendar_event(
    title='Follow-up meeting', description='Follow-up meeting to discuss the project.',
    start_time=f'2024-05-19 {hour}:00', end_time=f'2024-05-19 {hour + 1}:00',
    participants=found['result'][0]['participants'],
)
event['start_time']
