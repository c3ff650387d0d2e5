import asyncio

sensors = (await list_sensors())['result']
readings = await asyncio.gather(*[get_readings(sensor=sensor) for sensor in sensors])
flags = []
for sensor, reading in zip(sensors, readings):
    values = reading['result']
    mean = sum(values) / len(values)
    sd = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
    for index, v in enumerate(values):
        if abs(v - mean) > 2 * sd:
            flags.append((sensor, index))
await asyncio.gather(*[flag_reading(sensor=sensor, index=index) for sensor, index in flags])
flags
