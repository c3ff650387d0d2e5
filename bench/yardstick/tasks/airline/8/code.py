import asyncio

user1, flights1 = await asyncio.gather(
    get_user_details(user_id='sophia_silva_7557'),
    search_direct_flight(origin='ORD', destination='PHL', date='2024-05-26'),
)
reservation1 = await get_reservation_details(reservation_id=user1['reservations'][4])
{'user1': user1, 'reservation1': reservation1, 'flights1': flights1}
