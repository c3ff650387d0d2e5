async () => {
  const { result: list } = await travel.get_all_restaurants_in_city({ city: "Paris" });
  const restaurant_names = list.split(": ")[1].trim().split("\n");
  const [reviews, cuisine] = await Promise.all([
    travel.get_rating_reviews_for_restaurants({ restaurant_names }),
    travel.get_cuisine_type_for_restaurants({ restaurant_names }),
  ]);
  const rating = (name) => Number(reviews[name].match(/Rating: ([\d.]+)/)[1]);
  const [name] = restaurant_names.filter((n) => cuisine[n] === "Israeli").sort((a, b) => rating(b) - rating(a));
  const { [name]: location } = await travel.get_restaurants_address({ restaurant_names: [name] });
  await travel.create_calendar_event({
    title: `Dinner at ${name}`,
    location,
    start_time: "2024-11-14 09:00",
    end_time: "2024-11-14 09:30",
  });
  return name;
}
