import asyncio

address, scheduled, history = await asyncio.gather(
    update_user_info(street='1234 Elm Street', city='New York, NY 10001'),
    get_scheduled_transactions(),
    get_most_recent_transactions(n=100),
)
rent = [t for t in scheduled['result'] if 'rent' in t['subject'].lower()][-1]
friend = [t for t in history['result'] if t['recipient'] == 'me' and t['amount'] == 10.0][-1]['sender']
order, refund = await asyncio.gather(
    update_scheduled_transaction(id=rent['id'], recipient='CA133012400231215421872', amount=2200),
    send_money(recipient=friend, amount=10.0, subject='Refund', date='2022-04-01'),
)
{'address': address, 'order': order, 'refund': refund}
