async () => {
  const change1 = await retail.cancel_pending_order({ order_id: "#W9373487", reason: "no longer needed" });
  const change2 = await retail.return_delivered_order_items({ order_id: "#W7449508", item_ids: ["6477915553"], payment_method_id: "gift_card_7711863" });
  return "done";
}
