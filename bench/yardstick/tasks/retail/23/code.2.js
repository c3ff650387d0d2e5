async () => {
  const change1 = await retail.exchange_delivered_order_items({ order_id: "#W3947049", item_ids: ["3358616356"], new_item_ids: ["8573379326"], payment_method_id: "credit_card_7901829" });
  const change2 = await retail.exchange_delivered_order_items({ order_id: "#W6876713", item_ids: ["6301799585"], new_item_ids: ["8926329222"], payment_method_id: "credit_card_7901829" });
  const change3 = await retail.modify_pending_order_items({ order_id: "#W3561391", item_ids: ["5946177616"], new_item_ids: ["7082455361"], payment_method_id: "credit_card_7901829" });
  return "done";
}
