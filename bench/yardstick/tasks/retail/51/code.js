async () => {
  const [found1, order1, product1] = await Promise.all([
    retail.find_user_id_by_name_zip({ first_name: "Sofia", last_name: "Li", zip: "78260" }),
    retail.get_order_details({ order_id: "#W8855135" }),
    retail.get_product_details({ product_id: "8940227892" }),
  ]);
  const user1 = await retail.get_user_details({ user_id: found1.result });
  const order2 = await retail.get_order_details({ order_id: user1.orders[0] });
  return { found1, order1, product1, user1, order2 };
}
