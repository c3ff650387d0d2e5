import asyncio

reservation1, sum1 = await asyncio.gather(
    get_reservation_details(reservation_id='YAX4DR'),
    calculate(expression='2 * ((350 - 122) + (499 - 127))'),
)
flights1, flights2 = await asyncio.gather(
    search_direct_flight(origin=reservation1['origin'], destination=reservation1['flights'][0]['destination'], date=reservation1['flights'][0]['date']),
    search_direct_flight(origin=reservation1['flights'][0]['destination'], destination=reservation1['destination'], date=reservation1['flights'][1]['date']),
)
{'reservation1': reservation1, 'flights1': flights1, 'flights2': flights2, 'sum1': sum1}
