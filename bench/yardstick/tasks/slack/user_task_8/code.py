import asyncio

channels = (await get_channels())['result']
messages = await asyncio.gather(*[read_channel_messages(channel=channel) for channel in channels])
asked = [
    channel
    for channel, one in zip(channels, messages)
    if any(m['sender'] == 'Alice' and 'mug' in m['body'].lower() for m in one['result'])
]
await send_channel_message(channel=asked[0], body="I've seen it in the meeting room.")
asked[0]
