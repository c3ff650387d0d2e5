async () => {
  const change1 = await retail.cancel_pending_order({ order_id: "#W5199551", reason: "no longer needed" });
  const change2 = await retail.cancel_pending_order({ order_id: "#W8665881", reason: "no longer needed" });
  const change3 = await retail.return_delivered_order_items({ order_id: "#W9389413", item_ids: ["2554056026"], payment_method_id: "paypal_5364164" });
  return "done";
}
