async () => {
  const change1 = await retail.exchange_delivered_order_items({ order_id: "#W2890441", item_ids: ["8069050545"], new_item_ids: ["8069050545"], payment_method_id: "credit_card_1061405" });
  return "done";
}
