async () => {
  const found1 = await retail.find_user_id_by_email({ email: "isabella.lopez3271@example.com" });
  const user1 = await retail.get_user_details({ user_id: found1.result });
  const order1 = await retail.get_order_details({ order_id: user1.orders[0] });
  return { found1, user1, order1 };
}
