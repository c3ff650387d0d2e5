import asyncio

reservation1, reservation2 = await asyncio.gather(
    get_reservation_details(reservation_id='XEHM4B'),
    get_reservation_details(reservation_id='59XX6W'),
)
{'reservation1': reservation1, 'reservation2': reservation2}
