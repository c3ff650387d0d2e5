async () => {
  return await banking.update_password({ password: "1j1l-2k3j" });
}
