change1 = await cancel_pending_order(order_id='#W5199551', reason='no longer needed')
change2 = await cancel_pending_order(order_id='#W8665881', reason='no longer needed')
change3 = await return_delivered_order_items(order_id='#W9389413', item_ids=['2554056026'], payment_method_id='paypal_5364164')
'done'
