async () => {
  const change1 = await tools.cancel_reservation({ reservation_id: "FDZ0T5" });
  const change2 = await tools.cancel_reservation({ reservation_id: "HSR97W" });
  return "done";
}
