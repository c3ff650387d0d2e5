change1 = await modify_pending_order_payment(order_id='#W4923227', payment_method_id='credit_card_8897086')
'done'
