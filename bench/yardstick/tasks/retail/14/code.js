async () => {
  const [found1, user1] = await Promise.all([
    tools.find_user_id_by_email({ email: "mia.garcia2723@example.com" }),
    tools.get_user_details({ user_id: "mia_garcia_4516" }),
  ]);
  const [order1, order2] = await Promise.all([
    tools.get_order_details({ order_id: user1.orders[0] }),
    tools.get_order_details({ order_id: user1.orders[1] }),
  ]);
  return { found1, user1, order1, order2 };
}
