// JSON values as trees: large texts, lists and objects open in portions, and a value's origin stands beside it.

/** The most entries and characters that are shown at once. */
const ENTRIES = 60;
const CHARACTERS = 2000;
const MORE_CHARACTERS = 20000;
/** The entries up to which a list or object inside of a value is open at first. */
const FEW_ENTRIES = 20;

/** The length up to which a list or object stands on one line. */
const INLINE = 64;

const isComposite = (value) => value !== null && typeof value === 'object' && !(value instanceof ExactNumber);
const pointerPart = (name) => String(name).replaceAll('~', '~0').replaceAll('/', '~1');

/** A value on one line, cut to `most` characters. It reads no more of the value than it shows. */
function brief(value, most = 120) {
  if (typeof value === 'string') return oneLine(value.length > most ? `${value.slice(0, most)}…` : value, most + 1);
  if (!isComposite(value)) return String(value);
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  for (const name of isList ? value.keys() : Object.keys(value)) {
    if (text.length > most) return `${text.replace(/…$/, '')}…`;
    if (text.length > 1) text += ", ";
    const child = value[name];
    const shown = typeof child === 'string' ? JSON.stringify(child.slice(0, most)) : brief(child, most - text.length);
    text += isList ? visible(shown) : `${oneLine(name, 40)}: ${visible(shown)}`;
  }
  return text + (isList ? ']' : '}');
}

/** A value as a tree. `sources` is a list of `{pointer, from, origin, expression}`; `names` limits how deep it is open at first. */
function Value({ of, sources, depth = 2 }) {
  const bySource = useMemo(() => {
    const map = new Map();
    for (const entry of sources ?? []) map.set(entry.pointer, [...(map.get(entry.pointer) ?? []), entry]);
    return map;
  }, [sources]);
  if (of === undefined) return html`<span class="soft">none</span>`;
  return html`<div class="tree"><${TreeNode} value=${of} pointer="" sources=${bySource} depth=${depth} /></div>`;
}

function TreeNode({ name, value, pointer, sources, depth }) {
  const origins = sources.get(pointer);
  const label = name === undefined ? null : html`<span class="name"><${Text} of=${name} line /></span>`;
  if (!isComposite(value)) {
    return html`<div class="leaf">${label}<${Scalar} value=${value} /><${Origins} of=${origins} /></div>`;
  }
  const keys = Array.isArray(value) ? null : Object.keys(value);
  const size = keys ? keys.length : value.length;
  const isInline = size === 0 || (!hasSourceBelow(sources, pointer) && isShort(value, size));
  if (isInline) {
    return html`<div class="leaf">${label}<code class="v">${brief(value, INLINE * 2)}</code><${Origins} of=${origins} /></div>`;
  }
  return html`<${Branch} label=${label} value=${value} keys=${keys} size=${size} pointer=${pointer} sources=${sources}
    depth=${depth} origins=${origins} isRoot=${pointer === ''} />`;
}

function hasSourceBelow(sources, pointer) {
  for (const key of sources.keys()) if (key.startsWith(`${pointer}/`)) return true;
  return false;
}

function isShort(value, size) {
  if (size > 8) return false;
  for (const child of Object.values(value)) {
    if (isComposite(child) || (typeof child === 'string' && child.length > INLINE)) return false;
  }
  return writeJson(value).length <= INLINE;
}

function Branch({ label, value, keys, size, pointer, sources, depth, origins, isRoot }) {
  const [isOpen, setOpen] = useState(depth > 0 && (isRoot || size <= FEW_ENTRIES || depth > 2));
  const isBare = isRoot && isOpen;
  const [shown, setShown] = useState(ENTRIES);
  const entries = [];
  for (let index = 0; isOpen && index < Math.min(size, shown); index += 1) {
    const name = keys ? keys[index] : index;
    entries.push(html`<${TreeNode} key=${name} name=${name} value=${value[name]} pointer=${`${pointer}/${pointerPart(name)}`}
      sources=${sources} depth=${depth - 1} />`);
  }
  return html`<div class=${`branch ${isBare ? 'root' : ''}`}>
    ${!isBare && html`<button class="twist" aria-expanded=${isOpen ? 'true' : 'false'} onClick=${() => setOpen(!isOpen)}>
      <span class="twist-mark" aria-hidden="true">${isOpen ? '▾' : '▸'}</span>${label}
      <span class="soft">${keys ? `{${size.toLocaleString('en')}}` : `[${size.toLocaleString('en')}]`}</span>
      ${!isOpen && html`<span class="soft cut">${brief(value, 60)}</span>`}
    </button>`}<${Origins} of=${origins} />
    ${isOpen && html`<div class="children">${entries}
      ${shown < size && html`<button class="small" onClick=${() => setShown(shown + 10 * ENTRIES)}>
        Show ${Math.min(size - shown, 10 * ENTRIES).toLocaleString('en')} more of ${size.toLocaleString('en')}</button>`}
    </div>`}
  </div>`;
}

/** A text, number, truth value or null. A long text opens in portions. */
function Scalar({ value }) {
  const [shown, setShown] = useState(CHARACTERS);
  if (typeof value !== 'string') return html`<code class=${`v ${value instanceof ExactNumber ? 'number' : typeof value}`}>${String(value)}</code>`;
  const isBlock = value.length > 100 || value.includes('\n');
  const text = value.slice(0, wholeCharacters(value, shown));
  const content = isBlock
    ? html`<pre class="v string" tabindex="0">${pieces(text).map((piece, index) => html`<${Text} key=${index} of=${piece} />`)}</pre>`
    : html`<code class="v string">${value === '' ? html`<span class="soft">empty text</span>` : html`<${Text} of=${text} />`}</code>`;
  if (shown >= value.length) return content;
  const rest = value.length - shown;
  return html`<span class="long">${content}<button class="small" onClick=${() => setShown(shown + MORE_CHARACTERS)}>
    Show ${Math.min(rest, MORE_CHARACTERS).toLocaleString('en')} more of ${value.length.toLocaleString('en')} characters</button></span>`;
}

/** An end near `to` that does not divide a surrogate pair. */
const wholeCharacters = (text, to) => Math.min(text.length, /[\ud800-\udbff]/.test(text[to - 1] ?? '') ? to + 1 : to);

/** A long text in pieces, so that one more portion does not draw the earlier ones again. */
function pieces(text) {
  const list = [];
  for (let from = 0; from < text.length;) {
    const to = wholeCharacters(text, from + MORE_CHARACTERS);
    list.push(text.slice(from, to));
    from = to;
  }
  return list;
}

/** The origins of a value: the step, input or external value that it comes from. */
function Origins({ of }) {
  if (!of?.length) return null;
  return html`<span class="origins">${of.map((entry) => html`<span class="origin" title=${`from ${oneLine(entry.from ?? '')}`}>
    <span aria-hidden="true">← </span><span class="sr">from </span><code><${Text} of=${entry.expression ?? entry.from} line /></code>
      ${' '}<span class="soft">${oneLine(entry.origin ?? '', 20)}</span></span>`)}</span>`;
}

/** A JSON value as a copyable text. */
const CopyValue = ({ of }) => html`<${Copy} text=${() => (typeof of === 'string' ? of : writeJson(of, 2))} />`;
