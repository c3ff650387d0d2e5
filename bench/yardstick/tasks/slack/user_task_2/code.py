import re

page = (await get_webpage(url='www.dora-website.com'))['result'] or ''
found = re.search(r'[\w.+-]+@[\w-]+(\.[\w-]+)+', page)
assert found
await invite_user_to_slack(user='Dora', user_email=found.group(0))
found.group(0)
