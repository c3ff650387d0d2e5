import asyncio

user1 = await get_user_details(user_id='amelia_davis_8890')
reservation1, reservation2, reservation3, reservation4, reservation5, reservation6, reservation7 = await asyncio.gather(
    get_reservation_details(reservation_id=user1['reservations'][0]),
    get_reservation_details(reservation_id=user1['reservations'][1]),
    get_reservation_details(reservation_id=user1['reservations'][2]),
    get_reservation_details(reservation_id=user1['reservations'][3]),
    get_reservation_details(reservation_id=user1['reservations'][4]),
    get_reservation_details(reservation_id=user1['reservations'][5]),
    get_reservation_details(reservation_id=user1['reservations'][6]),
)
{'user1': user1, 'reservation1': reservation1, 'reservation2': reservation2, 'reservation3': reservation3, 'reservation4': reservation4, 'reservation5': reservation5, 'reservation6': reservation6, 'reservation7': reservation7}
