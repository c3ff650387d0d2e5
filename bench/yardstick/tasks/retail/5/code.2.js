async () => {
  const change1 = await retail.return_delivered_order_items({ order_id: "#W6390527", item_ids: ["8538875209"], payment_method_id: "paypal_7644869" });
  return "done";
}
