mails = (await search_emails(query='family reunion'))['result']
[{'sender': m['sender'], 'subject': m['subject'], 'body': m['body']} for m in mails]
