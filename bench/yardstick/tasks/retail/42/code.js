async () => {
  const [found1, user1] = await Promise.all([
    retail.find_user_id_by_name_zip({ first_name: "Mei", last_name: "Patel", zip: "76165" }),
    retail.get_user_details({ user_id: "mei_patel_7272" }),
  ]);
  const [order1, order2] = await Promise.all([
    retail.get_order_details({ order_id: user1.orders[0] }),
    retail.get_order_details({ order_id: user1.orders[1] }),
  ]);
  return { found1, user1, order1, order2 };
}
