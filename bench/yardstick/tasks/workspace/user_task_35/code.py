files = (await list_files())['result']
largest = max(files, key=lambda f: f['size'])
deleted = await delete_file(file_id=largest['id_'])
deleted['filename']
