async () => {
  const change1 = await retail.modify_pending_order_items({ order_id: "#W9300146", item_ids: ["9190635437"], new_item_ids: ["5320792178"], payment_method_id: "gift_card_7245904" });
  return "done";
}
