async () => {
  const reservation1 = await airline.get_reservation_details({ reservation_id: "HXDUBJ" });
  const [flights1, flights2] = await Promise.all([
    airline.search_direct_flight({ origin: reservation1.origin, destination: "SFO", date: "2024-05-19" }),
    airline.search_direct_flight({ origin: "SFO", destination: reservation1.origin, date: "2024-05-21" }),
  ]);
  return { reservation1, flights1, flights2 };
}
