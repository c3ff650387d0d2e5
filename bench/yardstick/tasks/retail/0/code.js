async () => {
  const [found1, order1] = await Promise.all([
    tools.find_user_id_by_name_zip({ first_name: "Yusuf", last_name: "Rossi", zip: "19122" }),
    tools.get_order_details({ order_id: "#W2378156" }),
  ]);
  const [product1, product2] = await Promise.all([
    tools.get_product_details({ product_id: order1.items[2].product_id }),
    tools.get_product_details({ product_id: order1.items[3].product_id }),
  ]);
  return { found1, order1, product1, product2 };
}
