async () => {
  const found1 = await retail.find_user_id_by_name_zip({ first_name: "Sofia", last_name: "Hernandez", zip: "98193" });
  const user1 = await retail.get_user_details({ user_id: found1.result });
  const [order1, order2, order3, order4] = await Promise.all([
    retail.get_order_details({ order_id: user1.orders[0] }),
    retail.get_order_details({ order_id: user1.orders[1] }),
    retail.get_order_details({ order_id: user1.orders[2] }),
    retail.get_order_details({ order_id: user1.orders[3] }),
  ]);
  const product1 = await retail.get_product_details({ product_id: order4.items[0].product_id });
  return { found1, user1, order1, order2, order3, order4, product1 };
}
