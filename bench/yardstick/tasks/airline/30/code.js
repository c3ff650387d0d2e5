async () => {
  const reservation1 = await airline.get_reservation_details({ reservation_id: "1N99U6" });
  const flights1 = await airline.search_direct_flight({ origin: "LAS", destination: "IAH", date: reservation1.flights[0].date });
  return { reservation1, flights1 };
}
