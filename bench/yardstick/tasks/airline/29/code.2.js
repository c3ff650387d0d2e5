async () => {
  const change1 = await airline.update_reservation_flights({ reservation_id: "VA5SGQ", cabin: "economy", flights: [{"flight_number": "HAT169", "date": "2024-05-17"}, {"flight_number": "HAT033", "date": "2024-05-19"}], payment_id: "credit_card_8003957" });
  const change2 = await airline.update_reservation_baggages({ reservation_id: "VA5SGQ", total_baggages: 1, nonfree_baggages: 0, payment_id: "credit_card_8003957" });
  return "done";
}
