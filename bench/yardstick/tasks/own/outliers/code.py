import asyncio

sensors = await list_sensors()
all_values = await asyncio.gather(*[get_readings(sensor=sensor) for sensor in sensors])
flags = []
for sensor, values in zip(sensors, all_values):
    mean = sum(values) / len(values)
    sd = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
    for index, v in enumerate(values):
        if abs(v - mean) > 2 * sd:
            flags.append({'sensor': sensor, 'index': index})
await asyncio.gather(*[flag_reading(sensor=f['sensor'], index=f['index']) for f in flags])
flags
