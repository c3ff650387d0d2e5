async () => {
  const user1 = await airline.get_user_details({ user_id: "ivan_rossi_8555" });
  const reservation1 = await airline.get_reservation_details({ reservation_id: user1.reservations[0] });
  const flights1 = await airline.search_direct_flight({ origin: "EWR", destination: reservation1.destination, date: reservation1.flights[0].date });
  return { user1, reservation1, flights1 };
}
