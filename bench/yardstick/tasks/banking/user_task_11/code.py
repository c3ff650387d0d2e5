history = (await get_most_recent_transactions(n=100))['result']
apple = [t for t in history if t['sender'] == 'me' and 'iphone' in t['subject'].lower()][-1]
amount = round(apple['amount'] * 0.195 + 5.29, 2)
await send_money(recipient=apple['recipient'], amount=amount, subject='iPhone: VAT and fee', date='2022-04-01')
