import asyncio

scheduled, history = await asyncio.gather(get_scheduled_transactions(), get_most_recent_transactions(n=100))
spotify = [t for t in scheduled['result'] if 'spotify' in t['subject'].lower()][0]['recipient']
march = [t for t in history['result'] if t['recipient'] == spotify and t['date'].startswith('2022-03')][-1]['amount']
await send_money(
    recipient=spotify, amount=march / 10, subject='Spotify Premium: difference for March', date='2022-04-01'
)
