// Parts that several screens use: errors, empty states, dialogs, lists that draw only their visible rows, and split panes.

/** An error of a request, with its advice. */
function ErrorNote({ error, retry }) {
  if (!error) return null;
  return html`<div class="note bad" role="alert">
    <${Icon} status="failed" />
    <div><p><${Message} of=${error.message} /></p>
    ${error.help && html`<p class="soft"><${Message} of=${error.help} /></p>`}</div>
    ${retry && html`<button onClick=${retry}>Try again</button>`}
  </div>`;
}

/** A place without content, with the reason or the next action. */
const Empty = ({ title, children }) => html`<div class="empty"><p class="strong">${title}</p><p class="soft">${children}</p></div>`;

const Busy = ({ what }) => html`<div class="empty" aria-busy="true"><p class="soft">Loading ${what}…</p></div>`;

/** A modal dialog. `onClose` runs on Escape, on the button and on a click outside. */
function Dialog({ title, onClose, children, wide }) {
  const dialog = useRef(null);
  useLayoutEffect(() => {
    const node = dialog.current;
    node.showModal();
    // The browser's way back changes what is behind the dialog.
    addEventListener('hashchange', onClose);
    // A dialog that is removed without being closed does not return the focus, and nothing else can have it while it is open.
    return () => { removeEventListener('hashchange', onClose); node.close(); };
  }, []);
  return html`<dialog ref=${dialog} class=${wide ? 'wide' : ''} aria-labelledby="dialog-title"
      onCancel=${(event) => { event.preventDefault(); onClose(); }}
      onMouseDown=${(event) => {
        if (event.target !== dialog.current) return;
        // The browser would move the focus from the button that it returns to.
        event.preventDefault();
        onClose();
      }}>
    <div class="dialog-body">
      <header><h2 id="dialog-title">${title}</h2><button class="quiet" aria-label="Close" onClick=${onClose}>✕</button></header>
      ${children}
    </div>
  </dialog>`;
}

/** The state of one action: `{busy, error, run(promise)}`. Its button is disabled while the request is pending. */
function useAction() {
  const [state, setState] = useState({ busy: false, error: null });
  const alive = useRef(true);
  useEffect(() => () => { alive.current = false; }, []);
  const run = async (action) => {
    const before = document.activeElement;
    setState({ busy: true, error: null });
    try {
      const result = await action();
      if (alive.current) setState({ busy: false, error: null });
      return result;
    } catch (error) {
      if (alive.current) setState({ busy: false, error });
      return undefined;
    } finally {
      // A button that was disabled meanwhile has lost the focus.
      requestAnimationFrame(() => document.activeElement === document.body && before.focus());
    }
  };
  return { ...state, run };
}

/** The size of an element and its scroll offset, kept current. Returns `[ref, {width, height, top}]`. */
function useViewport() {
  const element = useRef(null);
  const [size, setSize] = useState({ width: 0, height: 0, top: 0 });
  useLayoutEffect(() => {
    const node = element.current;
    if (!node) return undefined;
    let scheduled = 0;
    const measure = () => {
      scheduled = 0;
      setSize({ width: node.clientWidth, height: node.clientHeight, top: node.scrollTop });
    };
    const schedule = () => { scheduled ||= requestAnimationFrame(measure); };
    measure();
    const observer = new ResizeObserver(schedule);
    observer.observe(node);
    node.addEventListener('scroll', schedule, { passive: true });
    return () => {
      cancelAnimationFrame(scheduled);
      observer.disconnect();
      node.removeEventListener('scroll', schedule);
    };
  }, []);
  return [element, size];
}

/** Moves the focus to an element if no other has it, since the one that had it is gone. */
const refocus = (selector) => document.activeElement === document.body && document.querySelector(selector)?.focus();

/** The width of a narrow window, in pixels, in which details cover the list. The style has it, too. */
const NARROW = 720;

/** Moves the focus to the details of what is selected, if they are on the screen. */
const focusDetails = () => document.querySelector('[data-detail]')?.focus();

/**
 * A list of rows of equal height that draws only the visible ones. `row(index)` returns the content of a row; `selected` is scrolled into
 * view when it changes. The rows are options of one listbox, whose keys are the arrows, Home, End, Page Up and Page Down.
 */
function VirtualList(props) {
  const { length, rowHeight, row, rowClass, selected, onSelect, label, header, width, onKey, overlay } = props;
  const [element, view] = useViewport();
  const [isPrinted, setPrinted] = useState(false);
  // The browser draws what is there once this has run, so the list cannot wait for a frame.
  useEffect(() => {
    const names = ['beforeprint', 'afterprint'];
    const change = ({ type }) => setPrinted(type === names[0]);
    names.map((name) => addEventListener(name, change));
    return () => names.map((name) => removeEventListener(name, change));
  }, []);
  // As many rows wherever and however high the list is: a row that leaves the window lends its nodes to the one that enters it, and none
  // moves in the document, since the browser would lay it out again, and a click would reach another row than the one it began on.
  const slots = isPrinted ? length : Math.ceil(innerHeight / rowHeight) + 13;
  const first = isPrinted ? 0 : Math.max(0, Math.min(length, Math.floor(view.top / rowHeight)) - 6);
  const last = Math.min(length, first + slots);
  const head = header ? rowHeight : 0;

  useLayoutEffect(() => {
    const node = element.current;
    if (!node || selected < 0) return;
    const top = selected * rowHeight;
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + rowHeight + head > node.scrollTop + node.clientHeight) node.scrollTop = top + rowHeight + head - node.clientHeight;
  }, [selected, length]);

  const page = Math.max(1, Math.floor(view.height / rowHeight) - 2);
  const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -length, End: length };
  const onKeyDown = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || onKey?.(event)) return;
    const move = moves[event.key];
    if (move !== undefined && length) {
      event.preventDefault();
      onSelect(Math.min(length - 1, Math.max(0, (selected < 0 && move > 0 ? -1 : selected) + move)));
    } else if (event.key === 'Enter' && selected >= 0) {
      event.preventDefault();
      focusDetails();
    }
  };

  // A row that stays in the window while the list scrolls is not made again.
  const made = useMemo(() => ({}), [props, slots]);
  for (const index in made) if (index < first || index >= last) delete made[index];
  const rows = [];
  for (let index = first; index < last; index += 1) {
    rows[index % slots] = made[index] ??= html`<div id=${`row-${index}`} role="option" aria-selected=${index === selected ? 'true' : 'false'}
      aria-setsize=${length} aria-posinset=${index + 1} class=${`row ${index === selected ? 'selected' : ''} ${rowClass}`}
      style=${{ transform: `translateY(${index * rowHeight}px)`, height: `${rowHeight}px` }}
      onClick=${() => { onSelect(index); focusDetails(); }}>${row(index)}</div>`;
  }
  return html`<div class="list" ref=${element} role="presentation">
    ${header && html`<div class="row head" style=${{ height: `${rowHeight}px`, width }}>${header}</div>`}
    <div class="rows" role="listbox" tabindex="0" aria-label=${label} aria-owns=${Object.keys(made).map((index) => `row-${index}`).join(' ')} data-list
      aria-activedescendant=${selected >= first && selected < last ? `row-${selected}` : null}
      style=${{ height: `${length * rowHeight}px`, width }} onKeyDown=${onKeyDown}>${rows}${overlay && html`<div class="overlay" aria-hidden="true">${overlay}</div>`}</div>
  </div>`;
}

/** A search field. `/` focuses the first one of a screen; Escape empties it. */
function Search({ value, onInput, label, id = 'search' }) {
  return html`<input type="search" id=${id} class="search" placeholder=${label} aria-label=${label} value=${value} data-search
    spellcheck=${false} autocomplete="off"
    onInput=${(event) => onInput(event.target.value)}
    onKeyDown=${(event) => { if (event.key === 'Escape') { onInput(''); event.target.blur(); } }} />`;
}

/** A button that copies a text to the clipboard and says so. */
function Copy({ text, label = 'Copy' }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return undefined;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  return html`<button class="quiet small" onClick=${async () => { await navigator.clipboard.writeText(text()); setDone(true); }}>
    <span aria-live="polite">${done ? 'Copied' : label}</span></button>`;
}

/** A label with its content below, for definition-like lists. */
const Field = ({ label, children }) => html`<div class="field"><dt>${label}</dt><dd>${children}</dd></div>`;

/** Moves to a route. */
const go = (route) => { location.hash = route; };

/** Changes the route without a new entry in the history. */
function replaceRoute(address) {
  // The whole address: inside a client, the page has none that a fragment could be relative to.
  history.replaceState(null, '', location.href.replace(/#.*$/s, '') + address);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** A route from its parts and parameters. */
function route(parts, parameters = {}) {
  const used = Object.entries(parameters).filter(([, value]) => value);
  return `#/${parts.map(encodeURIComponent).join('/')}${used.length ? `?${new URLSearchParams(used)}` : ''}`;
}
