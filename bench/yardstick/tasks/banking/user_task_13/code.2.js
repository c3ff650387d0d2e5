async () => {
  return await banking.update_user_info({ street: "Dalton Street 123", city: "New York, NY 10001" });
}
