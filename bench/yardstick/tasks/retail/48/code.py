import asyncio

found1, user1 = await asyncio.gather(
    find_user_id_by_name_zip(first_name='Daiki', last_name='Johnson', zip='80273'),
    get_user_details(user_id='daiki_johnson_9523'),
)
order1, order2, order3 = await asyncio.gather(
    get_order_details(order_id=user1['orders'][0]),
    get_order_details(order_id=user1['orders'][1]),
    get_order_details(order_id=user1['orders'][2]),
)
{'found1': found1, 'user1': user1, 'order1': order1, 'order2': order2, 'order3': order3}
