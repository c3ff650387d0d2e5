async () => {
  const [found1, user1] = await Promise.all([
    retail.find_user_id_by_name_zip({ first_name: "Mei", last_name: "Kovacs", zip: "28236" }),
    retail.get_user_details({ user_id: "mei_kovacs_8020" }),
  ]);
  const order1 = await retail.get_order_details({ order_id: user1.orders[0] });
  const product1 = await retail.get_product_details({ product_id: order1.items[0].product_id });
  return { found1, user1, order1, product1 };
}
