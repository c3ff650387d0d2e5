import asyncio

found1 = await find_user_id_by_name_zip(first_name='Ethan', last_name='Garcia', zip='80280')
user1 = await get_user_details(user_id=found1['result'])
order1, order2 = await asyncio.gather(
    get_order_details(order_id=user1['orders'][0]),
    get_order_details(order_id=user1['orders'][1]),
)
product1, product2, product3, product4 = await asyncio.gather(
    get_product_details(product_id=order2['items'][0]['product_id']),
    get_product_details(product_id=order2['items'][1]['product_id']),
    get_product_details(product_id=order2['items'][2]['product_id']),
    get_product_details(product_id=order2['items'][3]['product_id']),
)
{'found1': found1, 'user1': user1, 'order1': order1, 'order2': order2, 'product1': product1, 'product2': product2, 'product3': product3, 'product4': product4}
