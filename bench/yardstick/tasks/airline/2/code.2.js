async () => {
  const change1 = await airline.send_certificate({ user_id: "noah_muller_9847", amount: 50 });
  return "done";
}
