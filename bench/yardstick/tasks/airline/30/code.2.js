async () => {
  const change1 = await airline.update_reservation_flights({ reservation_id: "1N99U6", cabin: "economy", flights: [{"flight_number": "HAT266", "date": "2024-05-19"}, {"flight_number": "HAT112", "date": "2024-05-27"}], payment_id: "gift_card_5634230" });
  return "done";
}
