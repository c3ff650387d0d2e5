import asyncio

reservation1 = await get_reservation_details(reservation_id='HXDUBJ')
flights1, flights2 = await asyncio.gather(
    search_direct_flight(origin=reservation1['origin'], destination='SFO', date='2024-05-19'),
    search_direct_flight(origin='SFO', destination=reservation1['origin'], date='2024-05-21'),
)
{'reservation1': reservation1, 'flights1': flights1, 'flights2': flights2}
