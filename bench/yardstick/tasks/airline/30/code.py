reservation1 = await get_reservation_details(reservation_id='1N99U6')
flights1 = await search_direct_flight(origin='LAS', destination='IAH', date=reservation1['flights'][0]['date'])
{'reservation1': reservation1, 'flights1': flights1}
