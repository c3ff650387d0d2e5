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
    transfers.append({'payer': payer, 'payee': payee, 'cents': cents})
await asyncio.gather(*[transfer(payer=t['payer'], payee=t['payee'], cents=t['cents']) for t in transfers])
transfers
