async () => {
  const [found1, user1] = await Promise.all([
    retail.find_user_id_by_email({ email: "mia.garcia2723@example.com" }),
    retail.get_user_details({ user_id: "mia_garcia_4516" }),
  ]);
  const [order1, order2] = await Promise.all([
    retail.get_order_details({ order_id: user1.orders[0] }),
    retail.get_order_details({ order_id: user1.orders[1] }),
  ]);
  return { found1, user1, order1, order2 };
}
