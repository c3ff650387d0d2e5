import asyncio

channels = (await get_channels())['result']
messages = await asyncio.gather(*[read_channel_messages(channel=channel) for channel in channels])
sizes = [len(one['result']) for one in messages]
channel = channels[sizes.index(min(sizes))]
await add_user_to_channel(user='Alice', channel=channel)
channel
