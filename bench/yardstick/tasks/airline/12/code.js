async () => {
  const [reservation1, sum1] = await Promise.all([
    airline.get_reservation_details({ reservation_id: "YAX4DR" }),
    airline.calculate({ expression: "2 * ((350 - 122) + (499 - 127))" }),
  ]);
  const [flights1, flights2] = await Promise.all([
    airline.search_direct_flight({ origin: reservation1.origin, destination: reservation1.flights[0].destination, date: reservation1.flights[0].date }),
    airline.search_direct_flight({ origin: reservation1.flights[0].destination, destination: reservation1.destination, date: reservation1.flights[1].date }),
  ]);
  return { reservation1, flights1, flights2, sum1 };
}
