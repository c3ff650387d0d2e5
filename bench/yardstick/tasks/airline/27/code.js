async () => {
  const user1 = await tools.get_user_details({ user_id: "ethan_martin_2396" });
  return { user1 };
}
