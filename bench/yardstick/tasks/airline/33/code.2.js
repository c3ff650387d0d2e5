async () => {
  const change1 = await airline.update_reservation_flights({ reservation_id: "HXDUBJ", cabin: "economy", flights: [{"flight_number": "HAT072", "date": "2024-05-19"}, {"flight_number": "HAT278", "date": "2024-05-23"}], payment_id: "gift_card_6941833" });
  const change2 = await airline.update_reservation_baggages({ reservation_id: "HXDUBJ", total_baggages: 2, nonfree_baggages: 2, payment_id: "gift_card_6941833" });
  return "done";
}
