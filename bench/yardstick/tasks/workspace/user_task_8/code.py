found = (await search_calendar_events(query='Introductory meeting', date='2024-05-15'))['result']
event = await add_calendar_event_participants(
    event_id=found[0]['id_'], participants=['john.doe@clientcorp.com', 'maria.garcia@bluesparrowtech.com']
)
event['participants']
