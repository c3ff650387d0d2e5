import asyncio

found1, order1, product1 = await asyncio.gather(
    find_user_id_by_name_zip(first_name='Sofia', last_name='Li', zip='78260'),
    get_order_details(order_id='#W8855135'),
    get_product_details(product_id='8940227892'),
)
user1 = await get_user_details(user_id=found1['result'])
order2 = await get_order_details(order_id=user1['orders'][0])
{'found1': found1, 'order1': order1, 'product1': product1, 'user1': user1, 'order2': order2}
