async () => {
  const change1 = await retail.modify_pending_order_payment({ order_id: "#W4923227", payment_method_id: "credit_card_8897086" });
  return "done";
}
