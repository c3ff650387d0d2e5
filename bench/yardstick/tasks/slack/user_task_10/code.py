import asyncio

channels = (await get_channels())['result']
messages, users = await asyncio.gather(
    asyncio.gather(*[read_channel_messages(channel=channel) for channel in channels]),
    asyncio.gather(*[get_users_in_channel(channel=channel) for channel in channels]),
)
sizes = [len(one['result']) for one in messages]
quietest = sizes.index(min(sizes))
channel = channels[quietest]
there = users[quietest]['result']
missing = sorted({user for one in users for user in one['result'] if user not in there})
await asyncio.gather(*[add_user_to_channel(user=user, channel=channel) for user in missing])
{'channel': channel, 'added': missing}
