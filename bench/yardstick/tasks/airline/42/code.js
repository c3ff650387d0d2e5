async () => {
  const user1 = await airline.get_user_details({ user_id: "sophia_martin_4574" });
  const [reservation1, reservation2, reservation3, reservation4, reservation5, reservation6, reservation7] = await Promise.all([
    airline.get_reservation_details({ reservation_id: user1.reservations[0] }),
    airline.get_reservation_details({ reservation_id: user1.reservations[1] }),
    airline.get_reservation_details({ reservation_id: user1.reservations[2] }),
    airline.get_reservation_details({ reservation_id: user1.reservations[3] }),
    airline.get_reservation_details({ reservation_id: user1.reservations[4] }),
    airline.get_reservation_details({ reservation_id: user1.reservations[5] }),
    airline.get_reservation_details({ reservation_id: user1.reservations[6] }),
  ]);
  return { user1, reservation1, reservation2, reservation3, reservation4, reservation5, reservation6, reservation7 };
}
