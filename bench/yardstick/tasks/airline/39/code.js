async () => {
  const user1 = await tools.get_user_details({ user_id: "amelia_davis_8890" });
  const [reservation1, reservation2, reservation3, reservation4, reservation5, reservation6, reservation7] = await Promise.all([
    tools.get_reservation_details({ reservation_id: user1.reservations[0] }),
    tools.get_reservation_details({ reservation_id: user1.reservations[1] }),
    tools.get_reservation_details({ reservation_id: user1.reservations[2] }),
    tools.get_reservation_details({ reservation_id: user1.reservations[3] }),
    tools.get_reservation_details({ reservation_id: user1.reservations[4] }),
    tools.get_reservation_details({ reservation_id: user1.reservations[5] }),
    tools.get_reservation_details({ reservation_id: user1.reservations[6] }),
  ]);
  return { user1, reservation1, reservation2, reservation3, reservation4, reservation5, reservation6, reservation7 };
}
