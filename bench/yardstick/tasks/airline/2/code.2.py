change1 = await send_certificate(user_id='noah_muller_9847', amount=50)
'done'
