async () => {
  const change1 = await retail.modify_pending_order_address({ order_id: "#W9583042", address1: "445 Maple Drive", address2: "Suite 394", city: "Fort Worth", state: "TX", country: "USA", zip: "76165" });
  const change2 = await retail.modify_pending_order_address({ order_id: "#W4082615", address1: "445 Maple Drive", address2: "Suite 394", city: "Fort Worth", state: "TX", country: "USA", zip: "76165" });
  const change3 = await retail.modify_user_address({ user_id: "mei_patel_7272", address1: "445 Maple Drive", address2: "Suite 394", city: "Fort Worth", state: "TX", country: "USA", zip: "76165" });
  const change4 = await retail.modify_pending_order_items({ order_id: "#W4082615", item_ids: ["9779102705"], new_item_ids: ["1096508426"], payment_method_id: "paypal_4768213" });
  return "done";
}
