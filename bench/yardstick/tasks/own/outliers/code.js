async () => {
  const { result: sensors } = await own.list_sensors({});
  const all = await Promise.all(sensors.map((sensor) => own.get_readings({ sensor })));
  const flags = [];
  sensors.forEach((sensor, i) => {
    const values = all[i].result;
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const sd = Math.sqrt(values.reduce((a, v) => a + (v - mean) ** 2, 0) / values.length);
    values.forEach((v, index) => {
      if (Math.abs(v - mean) > 2 * sd) flags.push({ sensor, index });
    });
  });
  await Promise.all(flags.map((flag) => own.flag_reading(flag)));
  return flags;
}
