history = (await get_most_recent_transactions(n=100))['result']
friend = 'GB29NWBK60161331926819'
received = [t for t in history if t['sender'] == friend][-1]['amount']
await send_money(recipient=friend, amount=received - 12.0 / 2, subject='Refund of the difference', date='2022-04-01')
