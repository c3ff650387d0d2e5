async () => {
  const parcels = await own.list_parcels({});
  const vans = [];
  const loads = [];
  for (const [parcel, kg] of Object.entries(parcels).sort((a, b) => b[1] - a[1])) {
    let van = vans.findIndex((load) => load + kg <= 100);
    if (van < 0) van = vans.push(0) - 1;
    vans[van] += kg;
    loads.push({ parcel, van: van + 1 });
  }
  await Promise.all(loads.map((load) => own.load_parcel(load)));
  return loads;
}
