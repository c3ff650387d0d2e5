change1 = await cancel_reservation(reservation_id='8C8K4E')
change2 = await cancel_reservation(reservation_id='LU15PA')
change3 = await cancel_reservation(reservation_id='MSJ4OA')
'done'
