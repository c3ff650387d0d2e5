async () => {
  const found1 = await retail.find_user_id_by_name_zip({ first_name: "Isabella", last_name: "Johansson", zip: "32286" });
  const user1 = await retail.get_user_details({ user_id: found1.result });
  const order1 = await retail.get_order_details({ order_id: user1.orders[0] });
  const product1 = await retail.get_product_details({ product_id: order1.items[0].product_id });
  return { found1, user1, order1, product1 };
}
