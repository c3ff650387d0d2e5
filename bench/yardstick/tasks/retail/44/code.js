async () => {
  const [found1, order1, sum1] = await Promise.all([
    retail.find_user_id_by_name_zip({ first_name: "Aarav", last_name: "Anderson", zip: "19031" }),
    retail.get_order_details({ order_id: "#W9300146" }),
    retail.calculate({ expression: "135.24 - 153.23" }),
  ]);
  const product1 = await retail.get_product_details({ product_id: order1.items[0].product_id });
  return { found1, order1, product1, sum1 };
}
