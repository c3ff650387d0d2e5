mails = (await search_emails(query='hiking trip'))['result']
[{'sender': m['sender'], 'subject': m['subject'], 'body': m['body']} for m in mails]
