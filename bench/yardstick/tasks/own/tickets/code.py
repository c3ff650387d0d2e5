import asyncio
import re

lines = (await read_log())['result']
counts = {}
for line in lines:
    found = re.search(r' ERROR (E\d+)', line)
    if found:
        code = found.group(1)
        counts[code] = counts.get(code, 0) + 1
await asyncio.gather(*[create_ticket(code=code, count=count) for code, count in counts.items() if count >= 3])
counts
