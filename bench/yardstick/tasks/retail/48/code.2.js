async () => {
  const change1 = await retail.return_delivered_order_items({ order_id: "#W9502127", item_ids: ["9534205511"], payment_method_id: "paypal_2433177" });
  return "done";
}
