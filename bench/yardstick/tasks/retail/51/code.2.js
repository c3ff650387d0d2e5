async () => {
  const change1 = await retail.return_delivered_order_items({ order_id: "#W4689314", item_ids: ["5996159312"], payment_method_id: "credit_card_8105988" });
  return "done";
}
