async () => {
  const name = "City Hub";
  const [reviews, prices, addresses] = await Promise.all([
    travel.get_rating_reviews_for_hotels({ hotel_names: [name] }),
    travel.get_hotels_prices({ hotel_names: [name] }),
    travel.get_hotels_address({ hotel_name: name }),
  ]);
  const address = addresses[name];
  const rating = Number(reviews[name].match(/Rating: ([\d.]+)/)[1]);
  const minimum = Number(prices[name].match(/[\d.]+/)[0]);
  if (rating > 4 && minimum < 200) {
    await travel.create_calendar_event({
      title: name,
      location: address,
      start_time: "2025-01-02 09:00",
      end_time: "2025-01-02 09:30",
    });
  }
  return { address, rating, minimum };
}
