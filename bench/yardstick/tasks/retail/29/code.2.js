async () => {
  const change1 = await retail.exchange_delivered_order_items({ order_id: "#W3792453", item_ids: ["4293355847"], new_item_ids: ["8176740019"], payment_method_id: "paypal_3024827" });
  const change2 = await retail.exchange_delivered_order_items({ order_id: "#W7181492", item_ids: ["5753502325"], new_item_ids: ["5206946487"], payment_method_id: "paypal_3024827" });
  return "done";
}
