async () => {
  const change1 = await airline.update_reservation_passengers({ reservation_id: "3RK2T9", passengers: [{"first_name": "Anya", "last_name": "Garcia", "dob": "1992-11-12"}, {"first_name": "Mei", "last_name": "Garcia", "dob": "1989-12-13"}] });
  return "done";
}
