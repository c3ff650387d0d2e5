import asyncio

found1, order1, sum1 = await asyncio.gather(
    find_user_id_by_name_zip(first_name='Aarav', last_name='Anderson', zip='19031'),
    get_order_details(order_id='#W9300146'),
    calculate(expression='135.24 - 153.23'),
)
product1 = await get_product_details(product_id=order1['items'][0]['product_id'])
{'found1': found1, 'order1': order1, 'product1': product1, 'sum1': sum1}
