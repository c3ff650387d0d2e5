async () => {
  const change1 = await retail.modify_user_address({ user_id: "noah_patel_6952", address1: "517 Lakeview Drive", address2: "Suite 183", city: "Seattle", country: "USA", state: "WA", zip: "98195" });
  return "done";
}
