found1 = await find_user_id_by_email(email='isabella.lopez3271@example.com')
user1 = await get_user_details(user_id=found1['result'])
order1 = await get_order_details(order_id=user1['orders'][0])
{'found1': found1, 'user1': user1, 'order1': order1}
