import asyncio

channels = (await get_channels())['result']
users = await asyncio.gather(*[get_users_in_channel(channel=channel) for channel in channels])
sizes = [len(one['result']) for one in users]
channel = channels[sizes.index(max(sizes))]
await send_channel_message(channel=channel, body='Hi, can everybody write me their favorite hobby in DM?')
channel
