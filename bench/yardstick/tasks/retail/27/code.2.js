async () => {
  const change1 = await retail.exchange_delivered_order_items({ order_id: "#W7181492", item_ids: ["8118291112"], new_item_ids: ["8277474082"], payment_method_id: "paypal_3024827" });
  return "done";
}
