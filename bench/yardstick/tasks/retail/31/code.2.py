change1 = await cancel_pending_order(order_id='#W9373487', reason='no longer needed')
change2 = await return_delivered_order_items(order_id='#W7449508', item_ids=['6477915553'], payment_method_id='gift_card_7711863')
'done'
