async () => {
  const [reservation1, reservation2] = await Promise.all([
    airline.get_reservation_details({ reservation_id: "XEHM4B" }),
    airline.get_reservation_details({ reservation_id: "59XX6W" }),
  ]);
  return { reservation1, reservation2 };
}
