user1 = await get_user_details(user_id='ivan_rossi_8555')
reservation1 = await get_reservation_details(reservation_id=user1['reservations'][0])
flights1 = await search_direct_flight(origin='EWR', destination=reservation1['destination'], date=reservation1['flights'][0]['date'])
{'user1': user1, 'reservation1': reservation1, 'flights1': flights1}
