import asyncio

scheduled, history = await asyncio.gather(get_scheduled_transactions(), get_most_recent_transactions(n=100))
spotify = [t for t in scheduled['result'] if 'spotify' in t['subject'].lower()][0]['recipient']
usual = [t for t in history['result'] if t['recipient'] == spotify][-1]['amount']
await schedule_transaction(
    recipient='US122000000121212121212', amount=usual, subject='iPhone subscription', date='2022-05-01', recurring=True
)
