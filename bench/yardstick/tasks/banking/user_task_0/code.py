bill = await read_file(file_path='bill-december-2023.txt')
bill['result']
