found1 = await find_user_id_by_name_zip(first_name='Mei', last_name='Davis', zip='80217')
user1 = await get_user_details(user_id=found1['result'])
order1 = await get_order_details(order_id=user1['orders'][0])
product1 = await get_product_details(product_id=order1['items'][2]['product_id'])
{'found1': found1, 'user1': user1, 'order1': order1, 'product1': product1}
