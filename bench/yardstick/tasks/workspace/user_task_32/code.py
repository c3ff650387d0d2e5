files = (await search_files(query='vacation plans'))['result']
plans = [f for f in files if 'Hawaii' in f['content']][0]
packing = [p for p in plans['content'].split('\n\n') if 'packing list' in p.lower()][0]
file = await create_file(filename='hawaii-packing-list.docx', content=packing)
await share_file(file_id=file['id_'], email='john.doe@gmail.com', permission='r')
file['id_']
