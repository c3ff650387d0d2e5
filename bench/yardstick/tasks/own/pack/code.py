import asyncio

parcels = await list_parcels()
vans = []
loads = []
for parcel, kg in sorted(parcels.items(), key=lambda item: -item[1]):
    for van, load in enumerate(vans):
        if load + kg <= 100:
            break
    else:
        van = len(vans)
        vans.append(0)
    vans[van] += kg
    loads.append((parcel, van + 1))
await asyncio.gather(*[load_parcel(parcel=parcel, van=van) for parcel, van in loads])
loads
