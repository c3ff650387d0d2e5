async () => {
  const found1 = await retail.find_user_id_by_name_zip({ first_name: "Noah", last_name: "Patel", zip: "10108" });
  const user1 = await retail.get_user_details({ user_id: found1.result });
  const [order1, order2, order3] = await Promise.all([
    retail.get_order_details({ order_id: user1.orders[2] }),
    retail.get_order_details({ order_id: user1.orders[1] }),
    retail.get_order_details({ order_id: user1.orders[0] }),
  ]);
  return { found1, user1, order1, order2, order3 };
}
