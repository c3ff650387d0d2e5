async () => {
  const change1 = await airline.send_certificate({ user_id: "ethan_martin_2396", amount: 150 });
  return "done";
}
