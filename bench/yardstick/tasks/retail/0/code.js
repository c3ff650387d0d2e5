async () => {
  const [found1, order1] = await Promise.all([
    retail.find_user_id_by_name_zip({ first_name: "Yusuf", last_name: "Rossi", zip: "19122" }),
    retail.get_order_details({ order_id: "#W2378156" }),
  ]);
  const [product1, product2] = await Promise.all([
    retail.get_product_details({ product_id: order1.items[2].product_id }),
    retail.get_product_details({ product_id: order1.items[3].product_id }),
  ]);
  return { found1, order1, product1, product2 };
}
