change1 = await cancel_reservation(reservation_id='FDZ0T5')
change2 = await cancel_reservation(reservation_id='HSR97W')
'done'
