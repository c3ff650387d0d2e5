user1 = await get_user_details(user_id='ethan_martin_2396')
{'user1': user1}
