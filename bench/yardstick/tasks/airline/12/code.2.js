async () => {
  const change1 = await airline.update_reservation_baggages({ reservation_id: "YAX4DR", total_baggages: 2, nonfree_baggages: 0, payment_id: "credit_card_4938634" });
  return "done";
}
