import asyncio

found1, user1 = await asyncio.gather(
    find_user_id_by_name_zip(first_name='Mei', last_name='Kovacs', zip='28236'),
    get_user_details(user_id='mei_kovacs_8020'),
)
order1 = await get_order_details(order_id=user1['orders'][0])
product1 = await get_product_details(product_id=order1['items'][0]['product_id'])
{'found1': found1, 'user1': user1, 'order1': order1, 'product1': product1}
