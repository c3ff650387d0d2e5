async () => {
  const reservation1 = await airline.get_reservation_details({ reservation_id: "VA5SGQ" });
  return { reservation1 };
}
