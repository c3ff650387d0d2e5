async () => {
  const reservation1 = await airline.get_reservation_details({ reservation_id: "3RK2T9" });
  return { reservation1 };
}
