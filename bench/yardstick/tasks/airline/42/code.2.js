async () => {
  const change1 = await airline.cancel_reservation({ reservation_id: "FDZ0T5" });
  const change2 = await airline.cancel_reservation({ reservation_id: "HSR97W" });
  return "done";
}
