roads = (await get_roads())['result']
graph = {}
for a, b, km in roads:
    graph.setdefault(a, []).append((b, km))
    graph.setdefault(b, []).append((a, km))
best = {'A': (0, ['A'])}
todo = ['A']
while todo:
    here = min(todo, key=lambda place: best[place][0])
    todo.remove(here)
    for there, km in graph[here]:
        length = best[here][0] + km
        if there not in best or length < best[there][0]:
            best[there] = (length, best[here][1] + [there])
            if there not in todo:
                todo.append(there)
way = best['G'][1]
for start, end in zip(way, way[1:]):
    await book_leg(start=start, end=end)
{'way': way, 'km': best['G'][0]}
