async () => {
  const { result: list } = await travel.get_all_restaurants_in_city({ city: "Paris" });
  const restaurant_names = list.split(": ")[1].trim().split("\n");
  const [reviews, prices, diets] = await Promise.all([
    travel.get_rating_reviews_for_restaurants({ restaurant_names }),
    travel.get_price_for_restaurants({ restaurant_names }),
    travel.get_dietary_restrictions_for_all_restaurants({ restaurant_names }),
  ]);
  const rating = (name) => Number(reviews[name].match(/Rating: ([\d.]+)/)[1]);
  const [name] = restaurant_names
    .filter((n) => /vegan/i.test(diets[n]))
    .sort((a, b) => rating(b) - rating(a) || prices[a] - prices[b]);
  const { [name]: address } = await travel.get_restaurants_address({ restaurant_names: [name] });
  await travel.create_calendar_event({
    title: `Dinner at ${name}`,
    location: address,
    start_time: "2024-10-15 09:00",
    end_time: "2024-10-15 09:30",
  });
  return { name, address };
}
