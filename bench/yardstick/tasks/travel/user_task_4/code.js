async () => {
  const { result: list } = await travel.get_all_hotels_in_city({ city: "Paris" });
  const hotel_names = list.split(": ")[1].trim().split("\n");
  const [reviews, prices] = await Promise.all([
    travel.get_rating_reviews_for_hotels({ hotel_names }),
    travel.get_hotels_prices({ hotel_names }),
  ]);
  const hotels = hotel_names.map((name) => {
    const [min, max] = prices[name].match(/[\d.]+/g).map(Number);
    return { name, rating: Number(reviews[name].match(/Rating: ([\d.]+)/)[1]), min, max };
  });
  const [hotel] = hotels.filter((h) => h.max < 210).sort((a, b) => b.rating - a.rating);
  const { [hotel.name]: location } = await travel.get_hotels_address({ hotel_name: hotel.name });
  await travel.create_calendar_event({
    title: `Booking hotel ${hotel.name}`,
    location,
    start_time: "2024-04-25 09:00",
    end_time: "2024-04-25 10:00",
  });
  return hotel;
}
