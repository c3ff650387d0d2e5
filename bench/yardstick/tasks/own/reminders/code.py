import asyncio

sums = {}
cursor = None
while True:
    page = await list_invoices(cursor=cursor)
    for invoice in page['invoices']:
        sums[invoice['customer']] = sums.get(invoice['customer'], 0) + invoice['cents']
    cursor = page['cursor']
    if cursor is None:
        break
due = {customer: cents for customer, cents in sums.items() if cents > 100000}
await asyncio.gather(*[send_reminder(customer=customer, cents=cents) for customer, cents in due.items()])
due
