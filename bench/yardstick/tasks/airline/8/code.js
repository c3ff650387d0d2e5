async () => {
  const [user1, flights1] = await Promise.all([
    airline.get_user_details({ user_id: "sophia_silva_7557" }),
    airline.search_direct_flight({ origin: "ORD", destination: "PHL", date: "2024-05-26" }),
  ]);
  const reservation1 = await airline.get_reservation_details({ reservation_id: user1.reservations[4] });
  return { user1, reservation1, flights1 };
}
