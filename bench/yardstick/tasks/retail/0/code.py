import asyncio

found1, order1 = await asyncio.gather(
    find_user_id_by_name_zip(first_name='Yusuf', last_name='Rossi', zip='19122'),
    get_order_details(order_id='#W2378156'),
)
product1, product2 = await asyncio.gather(
    get_product_details(product_id=order1['items'][2]['product_id']),
    get_product_details(product_id=order1['items'][3]['product_id']),
)
{'found1': found1, 'order1': order1, 'product1': product1, 'product2': product2}
