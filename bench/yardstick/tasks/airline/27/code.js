async () => {
  const user1 = await airline.get_user_details({ user_id: "ethan_martin_2396" });
  return { user1 };
}
