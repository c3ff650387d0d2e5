async () => {
  const [found1, sum1] = await Promise.all([
    retail.find_user_id_by_name_zip({ first_name: "Fatima", last_name: "Johnson", zip: "78712" }),
    retail.calculate({ expression: "3131.1 + 4777.75 + 367.38" }),
  ]);
  const user1 = await retail.get_user_details({ user_id: found1.result });
  const [order1, order2, order3] = await Promise.all([
    retail.get_order_details({ order_id: user1.orders[0] }),
    retail.get_order_details({ order_id: user1.orders[1] }),
    retail.get_order_details({ order_id: user1.orders[2] }),
  ]);
  return { found1, user1, order1, order2, order3, sum1 };
}
