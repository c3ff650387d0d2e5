channels = (await get_channels())['result']
channel = [c for c in channels if c.startswith('External')][0]
await add_user_to_channel(user='Charlie', channel=channel)
channel
