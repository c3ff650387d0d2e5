async () => {
  const change1 = await airline.cancel_reservation({ reservation_id: "8C8K4E" });
  const change2 = await airline.cancel_reservation({ reservation_id: "LU15PA" });
  const change3 = await airline.cancel_reservation({ reservation_id: "MSJ4OA" });
  return "done";
}
