history = (await get_most_recent_transactions(n=100))['result']
friend = 'GB29NWBK60161331926819'
received = [t for t in history if t['sender'] == friend][-1]['amount']
await send_money(recipient=friend, amount=received, subject='Refund', date='2022-04-01')
