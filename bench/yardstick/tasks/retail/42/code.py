import asyncio

found1, user1 = await asyncio.gather(
    find_user_id_by_name_zip(first_name='Mei', last_name='Patel', zip='76165'),
    get_user_details(user_id='mei_patel_7272'),
)
order1, order2 = await asyncio.gather(
    get_order_details(order_id=user1['orders'][0]),
    get_order_details(order_id=user1['orders'][1]),
)
{'found1': found1, 'user1': user1, 'order1': order1, 'order2': order2}
