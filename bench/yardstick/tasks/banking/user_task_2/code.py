import asyncio

notice, scheduled = await asyncio.gather(
    read_file(file_path='landlord-notices.txt'),
    get_scheduled_transactions(),
)
rent = [t for t in scheduled['result'] if 'rent' in t['subject'].lower()]
{'notice': notice['result'], 'rent': rent}
