async () => {
  const change1 = await retail.return_delivered_order_items({ order_id: "#W5490111", item_ids: ["1421289881"], payment_method_id: "credit_card_3124723" });
  const change2 = await retail.return_delivered_order_items({ order_id: "#W7387996", item_ids: ["5796612084"], payment_method_id: "paypal_9497703" });
  return "done";
}
