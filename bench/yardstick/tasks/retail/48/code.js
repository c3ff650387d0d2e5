async () => {
  const [found1, user1] = await Promise.all([
    retail.find_user_id_by_name_zip({ first_name: "Daiki", last_name: "Johnson", zip: "80273" }),
    retail.get_user_details({ user_id: "daiki_johnson_9523" }),
  ]);
  const [order1, order2, order3] = await Promise.all([
    retail.get_order_details({ order_id: user1.orders[0] }),
    retail.get_order_details({ order_id: user1.orders[1] }),
    retail.get_order_details({ order_id: user1.orders[2] }),
  ]);
  return { found1, user1, order1, order2, order3 };
}
