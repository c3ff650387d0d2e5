import asyncio

found1 = await find_user_id_by_name_zip(first_name='Noah', last_name='Patel', zip='10108')
user1 = await get_user_details(user_id=found1['result'])
order1, order2, order3 = await asyncio.gather(
    get_order_details(order_id=user1['orders'][2]),
    get_order_details(order_id=user1['orders'][1]),
    get_order_details(order_id=user1['orders'][0]),
)
{'found1': found1, 'user1': user1, 'order1': order1, 'order2': order2, 'order3': order3}
