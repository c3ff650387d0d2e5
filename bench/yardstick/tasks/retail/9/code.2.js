async () => {
  const change1 = await retail.exchange_delivered_order_items({ order_id: "#W6390527", item_ids: ["8384507844"], new_item_ids: ["7624783998"], payment_method_id: "paypal_7644869" });
  return "done";
}
