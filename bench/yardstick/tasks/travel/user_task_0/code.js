async () => {
  const hotel = "Le Marais Boutique";
  const { [hotel]: reviews } = await travel.get_rating_reviews_for_hotels({ hotel_names: [hotel] });
  const rating = Number(reviews.match(/Rating: ([\d.]+)/)[1]);
  if (rating <= 4) return { reviews };
  const { result } = await travel.reserve_hotel({ hotel, start_day: "2025-01-11", end_day: "2025-01-15" });
  return { reviews, reservation: result };
}
