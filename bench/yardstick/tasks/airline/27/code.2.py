change1 = await send_certificate(user_id='ethan_martin_2396', amount=150)
'done'
