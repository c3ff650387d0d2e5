reservation1 = await get_reservation_details(reservation_id='VA5SGQ')
{'reservation1': reservation1}
