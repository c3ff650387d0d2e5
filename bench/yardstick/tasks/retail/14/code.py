import asyncio

found1, user1 = await asyncio.gather(
    find_user_id_by_email(email='mia.garcia2723@example.com'),
    get_user_details(user_id='mia_garcia_4516'),
)
order1, order2 = await asyncio.gather(
    get_order_details(order_id=user1['orders'][0]),
    get_order_details(order_id=user1['orders'][1]),
)
{'found1': found1, 'user1': user1, 'order1': order1, 'order2': order2}
