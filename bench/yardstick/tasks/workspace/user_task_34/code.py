import asyncio

recipes, lists = await asyncio.gather(
    search_files_by_filename(filename='recipe-collection.docx'), search_files(query='grocery list')
)
recipe = recipes['result'][0]['content'].split('Chocolate Chip Cookies')[1].split('Instructions')[0]
grocery = [f for f in lists['result'] if 'grocery' in f['filename'].lower()][0]
file = await append_to_file(file_id=grocery['id_'], content=f'\n{recipe}')
file['size']
