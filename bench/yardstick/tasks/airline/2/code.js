async () => {
  const user1 = await airline.get_user_details({ user_id: "noah_muller_9847" });
  const [reservation1, reservation2] = await Promise.all([
    airline.get_reservation_details({ reservation_id: user1.reservations[0] }),
    airline.get_reservation_details({ reservation_id: user1.reservations[1] }),
  ]);
  return { user1, reservation1, reservation2 };
}
