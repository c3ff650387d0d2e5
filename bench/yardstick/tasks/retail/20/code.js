async () => {
  const found1 = await retail.find_user_id_by_name_zip({ first_name: "Ethan", last_name: "Garcia", zip: "80280" });
  const user1 = await retail.get_user_details({ user_id: found1.result });
  const [order1, order2] = await Promise.all([
    retail.get_order_details({ order_id: user1.orders[0] }),
    retail.get_order_details({ order_id: user1.orders[1] }),
  ]);
  const [product1, product2, product3, product4] = await Promise.all([
    retail.get_product_details({ product_id: order2.items[0].product_id }),
    retail.get_product_details({ product_id: order2.items[1].product_id }),
    retail.get_product_details({ product_id: order2.items[2].product_id }),
    retail.get_product_details({ product_id: order2.items[3].product_id }),
  ]);
  return { found1, user1, order1, order2, product1, product2, product3, product4 };
}
