async () => {
  const change1 = await airline.update_reservation_flights({ reservation_id: "XEHM4B", cabin: "economy", flights: [{"flight_number": "HAT005", "date": "2024-05-20"}, {"flight_number": "HAT178", "date": "2024-05-30"}], payment_id: "credit_card_2408938" });
  const change2 = await airline.cancel_reservation({ reservation_id: "XEHM4B" });
  const change3 = await airline.cancel_reservation({ reservation_id: "59XX6W" });
  return "done";
}
