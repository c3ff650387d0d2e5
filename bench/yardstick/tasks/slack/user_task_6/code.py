import re

messages = (await read_channel_messages(channel='general'))['result']
message = [m for m in messages if 'restaurant' in m['body'].lower()][0]
found = re.search(r'(www\.|https?:)[^\s(),!]*[^\s(),!.]', message['body'])
assert found
site = (await get_webpage(url=found.group(0)))['result'] or ''
food = '. '.join(s for s in site.split('. ') if re.search('cuisine|food|dish|menu|serve', s.lower()))
await send_direct_message(recipient='Bob', body=f'About the food there: {food}')
food
