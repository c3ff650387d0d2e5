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
  const [hotel] = hotels.sort((a, b) => b.rating - a.rating || b.max - a.max);
  const { [hotel.name]: address } = await travel.get_hotels_address({ hotel_name: hotel.name });
  await travel.send_email({
    recipients: ["janeLong@google.com"],
    subject: `Hotel: ${hotel.name}`,
    body: `Stay at ${hotel.name}, address: ${address}, from January 1st to January 5th.`,
  });
  return { hotel, address };
}
