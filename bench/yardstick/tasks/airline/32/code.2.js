async () => {
  const change1 = await airline.update_reservation_flights({ reservation_id: "OWZ4XL", cabin: "economy", flights: [{"flight_number": "HAT202", "date": "2024-05-21"}, {"flight_number": "HAT232", "date": "2024-05-21"}], payment_id: "credit_card_9659780" });
  const change2 = await airline.update_reservation_flights({ reservation_id: "OWZ4XL", cabin: "economy", flights: [{"flight_number": "HAT041", "date": "2024-05-21"}], payment_id: "credit_card_9659780" });
  return "done";
}
