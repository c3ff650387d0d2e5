user1 = await get_user_details(user_id='noah_muller_9847')
reservation1 = await get_reservation_details(reservation_id=user1['reservations'][1])
{'user1': user1, 'reservation1': reservation1}
