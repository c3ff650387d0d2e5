change1 = await update_reservation_flights(reservation_id='XEHM4B', cabin='economy', flights=[{'flight_number': 'HAT005', 'date': '2024-05-20'}, {'flight_number': 'HAT178', 'date': '2024-05-30'}], payment_id='credit_card_2408938')
change2 = await cancel_reservation(reservation_id='XEHM4B')
change3 = await cancel_reservation(reservation_id='59XX6W')
'done'
