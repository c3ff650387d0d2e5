import asyncio

balances = dict(await get_balances())
transfers = []
while True:
    names = sorted(balances, key=lambda name: balances[name])
    payer, payee = names[0], names[-1]
    if balances[payer] == 0:
        break
    cents = min(-balances[payer], balances[payee])
    balances[payer] += cents
    balances[payee] -= cents
    transfers.append((payer, payee, cents))
await asyncio.gather(*[transfer(payer=payer, payee=payee, cents=cents) for payer, payee, cents in transfers])
transfers
