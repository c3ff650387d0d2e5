reservation1 = await get_reservation_details(reservation_id='3RK2T9')
{'reservation1': reservation1}
