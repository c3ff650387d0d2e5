// The timeline of a run: a bar for each attempt and wait, the critical path, the estimate, and the present while the run is running.

/** The least time between two requests for the timeline of a running run, in ms. */
const TIMELINE_INTERVAL = 500;
/** The least distance between two marks of the axis, in pixels. */
const TICK_DISTANCE = 90;

const BAR_KINDS = { call: 'call', wait: 'waits', pause: 'pause before the next attempt' };

function TimelineTab({ shown, at, select }) {
  const { data, error, busy, reload } = useLoad(() => source.timeline(shown.id), [shown.id]);
  const timer = useRef(0);
  useEffect(() => {
    if (!data || timer.current) return;
    timer.current = setTimeout(() => {
      timer.current = 0;
      reload();
    }, TIMELINE_INTERVAL);
  }, [shown.version]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return html`<${StepSplit} shown=${shown} at=${at} select=${select}>
    <${ErrorNote} error=${error} retry=${reload} />
    ${!data && busy && html`<${Busy} what="the timeline" />`}
    ${data && data.bars.length === 0 && html`<${Empty} title="Nothing has started yet">The bars appear with the first call.<//>`}
    ${data?.more_bars > 0 && html`<p class="caution">${data.more_bars.toLocaleString('en')} further bars are not shown.</p>`}
    ${data && data.bars.length > 0 && html`<${Timeline} data=${data} at=${at} select=${select} />`}
  <//>`;
}

function Timeline({ data, at, select }) {
  const [zoom, setZoom] = useState(1);
  const [text, setText] = useState('');
  const [box, view] = useViewport();
  const [loaded] = [useMemo(() => performance.now(), [data])];
  const isRunning = data.now_ms !== null && data.now_ms !== undefined;
  const [, tick] = useState(0);
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => tick((n) => n + 1), 250);
    return () => clearInterval(timer);
  }, [isRunning]);
  const now = isRunning ? data.now_ms + performance.now() - loaded : null;

  const critical = useMemo(() => new Set(data.critical), [data]);
  const all = useMemo(() => timelineRows(data.bars), [data]);
  const wanted = text.trim().toLowerCase();
  const rows = useMemo(() => (wanted ? all.filter((row) => `${row.at} ${row.tool}`.toLowerCase().includes(wanted)) : all), [all, wanted]);
  const selected = useMemo(() => rows.findIndex((row) => row.at === at), [rows, at]);

  const labels = Math.min(260, Math.max(110, view.width * 0.24));
  // An estimate that was far too long would leave no room for the bars of a run that has ended.
  const estimate = isRunning || data.estimate_ms < 2 * data.total_ms ? data.estimate_ms : null;
  const end = Math.max(1, data.total_ms, estimate ?? 0, now ?? 0) * 1.02;
  const plot = Math.max(120, (view.width - labels - 16) * zoom);
  const scale = plot / end;
  const x = (ms) => ms * scale;
  const onKey = (event) => {
    if (event.key === '+' || event.key === '=') setZoom(Math.min(400, zoom * 1.5));
    else if (event.key === '-') setZoom(Math.max(1, zoom / 1.5));
    else if (event.key === '0') setZoom(1);
    else return false;
    event.preventDefault();
    return true;
  };

  const lines = html`${now !== null && html`<i class="rule now" style=${{ left: `${x(now)}px` }}></i>`}
    ${estimate && html`<i class="rule estimate" style=${{ left: `${x(estimate)}px` }}></i>`}`;
  const header = html`<span class="label soft" style=${{ width: `${labels}px` }}>Step</span><span class="plot axis" style=${{ width: `${plot}px` }}>
    ${ticks(end, plot).map((ms) => html`<span class="tick" key=${ms} style=${{ left: `${x(ms)}px` }}>${duration(ms)}</span>`)}
    ${lines}</span>`;
  const row = (index) => {
    const { at: address, bars } = rows[index];
    return html`<span class=${`label ${critical.has(address) ? 'critical' : ''}`} title=${oneLine(address)} style=${{ width: `${labels}px` }}>
        ${critical.has(address) && html`<span class="sr">on the critical path: </span>`}<${Text} of=${address} line /></span>
      <span class="plot" style=${{ width: `${plot}px` }}>${bars.map((bar) => {
        const from = x(bar.start_ms);
        const to = x(bar.end_ms ?? now ?? data.total_ms);
        return html`<i class=${`block kind-${bar.kind} s-${statusKey(bar.status)} ${critical.has(address) ? 'critical' : ''}`} title=${barTitle(bar)}
          style=${{ left: `${from}px`, width: `${Math.max(2, to - from)}px` }}></i>`;
      })}<span class="sr">${bars.slice(0, 20).map(barTitle).join('. ')}</span></span>`;
  };
  return html`<div class="timeline" ref=${box}>
    <div class="filters">
      <${Search} value=${text} onInput=${setText} label="Search the timeline" />
      <ul class="legend inline">
        <li><i class="block kind-call s-succeeded"></i>call</li><li><i class="block kind-wait"></i>wait</li>
        ${critical.size > 0 && html`<li><i class="block kind-call s-succeeded critical"></i>critical path</li>`}
        ${data.estimate_ms && html`<li>${estimate && html`<i class="rule estimate"></i>`}estimate ${duration(data.estimate_ms)}</li>`}
        ${now !== null && html`<li><i class="rule now"></i>now ${duration(now)}</li>`}
      </ul>
      <div class="zoom inline" role="group" aria-label="Zoom"><button aria-label="Zoom in" onClick=${() => setZoom(Math.min(400, zoom * 1.5))}>+</button>
        <button aria-label="Zoom out" onClick=${() => setZoom(Math.max(1, zoom / 1.5))}>−</button><button onClick=${() => setZoom(1)}>Fit</button></div>
    </div>
    <${VirtualList} length=${rows.length} rowHeight=${26} row=${row} rowClass="time-row" selected=${selected} header=${header} onKey=${onKey}
      overlay=${html`<div class="lines" style=${{ left: `${labels}px` }}>${lines}</div>`} width=${`${labels + plot + 16}px`} label="Timeline, one row for each step"
      onSelect=${(index) => select(rows[index].at)} />
  </div>`;
}

/** The bars by step, in the order of the first start. */
function timelineRows(bars) {
  const rows = new Map();
  for (const bar of bars) {
    if (!rows.has(bar.at)) rows.set(bar.at, { at: bar.at, tool: bar.tool ?? '', start: bar.start_ms, bars: [] });
    const row = rows.get(bar.at);
    row.start = Math.min(row.start, bar.start_ms);
    row.bars.push(bar);
  }
  return [...rows.values()].sort((a, b) => a.start - b.start);
}

function barTitle(bar) {
  const name = bar.kind === 'call' ? `attempt ${bar.attempt ?? 1}` : BAR_KINDS[bar.kind] ?? bar.kind;
  const time = typeof bar.end_ms === 'number' ? `${duration(bar.start_ms)} to ${duration(bar.end_ms)} (${duration(bar.end_ms - bar.start_ms)})` : `since ${duration(bar.start_ms)}`;
  return `${name}: ${time}${bar.kind === 'call' ? `, ${statusName(bar.status)}` : ''}`;
}

/** The distances between two marks of the axis, in ms: a few units of each kind of time. */
const TICKS = [1, 1000, 60000, 3600000].flatMap((unit) => [1, 2, 5, 10, 20, 30].map((count) => count * unit)).concat(50, 100, 200, 500).sort((a, b) => a - b);

/** Round times for the axis. */
function ticks(end, width) {
  const rough = end / Math.max(1, Math.floor(width / TICK_DISTANCE));
  const step = TICKS.find((ms) => ms >= rough) ?? Math.ceil(rough / 86400000) * 86400000;
  const list = [];
  for (let ms = 0; ms < end && list.length < 2000; ms += step) list.push(ms);
  return list;
}
