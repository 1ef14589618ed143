'use strict';
const $ = id => document.getElementById(id);
let token = '', sessions = [], waiting = false, listed = false;

function make(name, text, attributes) {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
    return e;
}
function button(text, action, attributes) {
    const b = make('button', text, attributes);
    b.onclick = action;
    return b;
}
function say(text, bad) {
    $('status').textContent = text;
    $('status').className = bad ? 'error' : 'note';
}

/* Requests */

async function send(path, method, headers, body) {
    if (token) headers.Authorization = 'Bearer ' + token;
    const reply = await fetch(path, { method, headers, body });
    if (reply.status !== 401) return reply;
    $('token-field').hidden = false;
    throw new Error(token ? 'The service does not take this token.' : 'Enter the token of the service.');
}
/* Numbers of rows keep their digits: JavaScript would round large integers and shorten 28.0.  Older browsers do not
 * give the digits. */
function exactRows(text) {
    const digits = (key, value, at) => typeof value === 'number' && at ? { digits: at.source } : value;
    return JSON.parse(text, digits).result.rows;
}
async function read(reply) {
    const text = await reply.text(), line = JSON.parse(text);
    if (line.error) throw new Error(line.error.text);
    if (line.result && line.result.rows) line.result.rows = exactRows(text);
    return line;
}
function sendJson(path, body) {
    return send(path, 'POST', { 'Content-Type': 'application/json' }, JSON.stringify(body));
}
async function get(path) {
    return read(await send(path, 'GET', {}));
}
async function post(path, body) {
    return read(await sendJson(path, body));
}
/* Does one thing at a time.  The action returns the text of the status. */
async function work(action) {
    if (waiting) return;
    waiting = true;
    $('main').setAttribute('aria-busy', 'true');
    say('Working ...');
    try {
        say(await action() || '');
    } catch (e) {
        say(e.message, true);
    }
    $('main').removeAttribute('aria-busy');
    waiting = false;
}

/* A browser may forbid a page to store anything. */
function remembered() {
    try { return localStorage.getItem('ambit-database'); } catch (e) { return null; }
}
function remember(name) {
    try { localStorage.setItem('ambit-database', name); } catch (e) { /* The choice lasts as long as the page. */ }
}
async function listDatabases() {
    const names = (await get('databases')).databases, list = $('database');
    if (!names.length) throw new Error('The service has no database.');
    const options = names.map(name => make('option', name, { value: name }));
    if (names.length > 1) options.unshift(make('option', 'Choose one', { value: '', disabled: '' }));
    list.replaceChildren(...options);
    list.value = names.length === 1 ? names[0] : names.includes(remembered()) ? remembered() : '';
    list.required = true;
    $('database-field').hidden = false;
    listed = true;
}

/* A dialogue as a link: its session, compressed, behind the # of the address.  Browsers do not send this part. */

const MAX_SESSION = 4 << 20;

async function through(stream, bytes) {
    const parts = [], reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
    let n = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
        n += part.value.length;
        if (n > MAX_SESSION) throw new Error('The link is too long.');
        parts.push(part.value);
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
}
async function linkOf(session) {
    const packed = await through(new CompressionStream('deflate'), new TextEncoder().encode(JSON.stringify(session)));
    const letters = Array.from(packed, byte => String.fromCharCode(byte)).join('');
    return '#session=' + btoa(letters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
async function sessionOf(link) {
    try {
        const letters = atob(link.replace('#session=', '').replaceAll('-', '+').replaceAll('_', '/'));
        const bytes = await through(new DecompressionStream('deflate'), Uint8Array.from(letters, c => c.charCodeAt(0)));
        return JSON.parse(new TextDecoder().decode(bytes));
    } catch (e) {
        throw new Error('The link of the dialogue is damaged: it may have been cut.');
    }
}
async function putLink(session) {
    history.replaceState(null, '', session ? await linkOf(session) : location.pathname + location.search);
}
async function copyLink() {
    try {
        await navigator.clipboard.writeText(location.href);
        say('The link is copied.');
    } catch (e) {
        say('The address of this page is the link.');
    }
}

/* The question and what is known about it */

const noStatement = 'There is no statement: the question asks for more than columns of one table, and there are no candidates.';

const labels = { AMB: 'several meanings', UNK: 'nothing that is there', COL: 'a column', VAL: 'a value' };

/* Marks the tagger's words; their offsets count code points. */
function showQuestion(question, spans) {
    const letters = Array.from(question), p = make('p');
    let at = 0;
    for (const s of spans) {
        const words = make('mark', letters.slice(s.start, s.end).join(''), { class: s.label });
        words.append(make('span', ' (' + labels[s.label] + ')', { class: 'spoken' }));
        p.append(letters.slice(at, s.start).join(''), words);
        at = s.end;
    }
    p.append(letters.slice(at).join(''));
    return p;
}
function showLegend(spans) {
    const list = make('ul', undefined, { class: 'legend', 'aria-label': 'Legend of the marked words' });
    list.append(make('li', 'Marked words:'));
    for (const label of Object.keys(labels)) {
        if (!spans.some(s => s.label === label)) continue;
        const item = make('li');
        item.append(make('mark', labels[label], { class: label }));
        list.append(item);
    }
    return list;
}
function note(text) {
    return make('p', text, { class: 'note' });
}
/* The words of the tagger, or without one those that the alternatives of the detector share with the question. */
function spansOf(line) {
    return line.tagger ? line.tagger.spans : line.session && line.session.record.spans || [];
}
function showKnown(line) {
    const spans = spansOf(line), parts = [showQuestion(line.question, spans)];
    if (spans.length) parts.push(showLegend(spans));
    parts.push(line.sentence ? make('p', line.sentence)
        : note('There is no detector: whether the question is ambiguous is not known.'));
    if (line.gated) parts.push(note('Most likely it is not ambiguous: nothing is asked.'));
    if (line.stop === 'no-candidates' && !line.sql) parts.push(note(noStatement));
    $('known').replaceChildren(...parts);
}

/* The schema: the drawing of the service, which escapes all names, and its tables as a list */

function listTables(schema) {
    const all = make('details'), list = make('dl');
    all.append(make('summary', 'Tables and columns as a list'), list);
    schema.table_names_original.forEach((name, table) => {
        const columns = schema.column_names_original.filter(c => c[0] === table).map(c => c[1]);
        list.append(make('dt', name), make('dd', columns.join(', ')));
    });
    return all;
}
/* The text is a style and a drawing.  The page's policy forbids inline styles, but not style sheets of scripts. */
function showDrawing(text) {
    const [, style, html] = /^<style>([^<]*)<\/style>(.*)$/s.exec(text), rules = new CSSStyleSheet();
    const drawing = new DOMParser().parseFromString(html, 'text/html').querySelector('.schema');
    rules.replaceSync(style);
    document.adoptedStyleSheets = [rules];
    drawing.setAttribute('role', 'group');
    drawing.setAttribute('aria-label', 'Drawing of the tables');
    return document.adoptNode(drawing);
}
async function showSchema(line) {
    const alternatives = line.detector && line.detector.alternatives || [];
    const schema = await post('schema', { db_id: line.db_id, alternatives });
    const figure = make('figure'), caption = make('figcaption');
    if (alternatives.length) {
        const legend = make('ul', undefined, { class: 'legend' }), item = make('li');
        item.append(make('span', alternatives.join(' or '), { class: 'named' }), ': the question may mean either');
        legend.append(item);
        caption.append(legend);
    } else caption.append(make('span', 'Tables, their columns and foreign keys', { class: 'note' }));
    figure.append(caption, showDrawing(schema.drawing));
    $('schema').replaceChildren(make('h2', 'Database ' + schema.db_id), figure, listTables(schema));
}

/* The open question */

function showAsk(line) {
    const parts = [], others = make('div', undefined, { class: 'others' });
    if (line.ask) {
        parts.push(make('h2', line.ask.text, { id: 'ask', tabindex: '-1' }));
        const options = make('div', undefined, { class: 'options', role: 'group', 'aria-labelledby': 'ask' });
        line.ask.options.forEach((o, i) => options.append(button(o.text, () => answer(i + 1), { title: o.sql || '' })));
        parts.push(options);
        for (const [text, said] of [['None of these', 'none'], ["I don't know", "don't know"], ['Either is fine', 'either']])
            others.append(button(text, () => answer(said), { class: 'side' }));
    }
    if (sessions.length > 1 || (line.session && line.session.turns.length))
        others.append(button('Undo', undo, { class: 'side', id: 'undo' }));
    if (line.session) others.append(button('Copy link', copyLink, { class: 'side', id: 'copy' }));
    $('asking').replaceChildren(...parts, others);
}

/* The statement and its rows */

function cell(value, numeric) {
    if (value === null) return make('td', 'NULL', { class: numeric ? 'null number' : 'null' });
    if (value.digits) return make('td', value.digits, { class: 'number' });
    if (typeof value === 'object') return make('td', value.real || JSON.stringify(value), value.real ? { class: 'number' } : {});
    return make('td', String(value), numeric ? { class: 'number' } : {});
}
function isNumeric(rows, column) {
    const values = rows.map(row => row[column]).filter(v => v !== null);
    return values.length > 0 && values.every(v => typeof v === 'number' || v.digits || v.real);
}
function count(n) {
    return n === 1 ? '1 row' : n + ' rows';
}
function showRows(result) {
    const box = make('div', undefined, { class: 'rows', role: 'group', tabindex: '0', 'aria-labelledby': 'rows' });
    const table = make('table'), head = make('tr'), top = make('thead'), body = make('tbody');
    const numeric = result.columns.map((name, i) => isNumeric(result.rows, i));
    table.append(make('caption', (result.truncated ? 'The first ' : '') + count(result.rows.length), { id: 'rows' }), top, body);
    top.append(head);
    result.columns.forEach((name, i) => head.append(make('th', name, numeric[i] ? { scope: 'col', class: 'number' } : { scope: 'col' })));
    for (const row of result.rows) {
        const tr = make('tr');
        row.forEach((value, i) => tr.append(cell(value, numeric[i])));
        body.append(tr);
    }
    box.append(table);
    return box;
}
/* A question about which nothing is asked has a statement, and no session yet. */
async function sessionWithRows(line) {
    if (line.session) return line.session;
    const record = { db_id: line.db_id, question: line.question, candidates: [line.sql] };
    return (await post('start', { record })).session;
}
function saveRows() {
    work(async () => {
        const reply = await sendJson('rows', { session: await sessionWithRows(sessions[sessions.length - 1]) });
        if (!reply.ok) await read(reply);
        const name = /filename="([^"]+)"/.exec(reply.headers.get('Content-Disposition'))[1];
        const link = make('a', undefined, { download: name, href: URL.createObjectURL(await reply.blob()) });
        link.click();
        URL.revokeObjectURL(link.href);
        return name.startsWith('first') ? name + ' has the first 10,000 rows of more.' : name + ' has all rows.';
    });
}
/* Without candidates the answers rewrite the question, and a plain question has a statement. */
function showRewrite(line) {
    const elements = line.rewrite.elements, open = elements.filter(e => e.element === null).length;
    const ambiguous = 'The question stays ambiguous, so that there is no statement.';
    const title = open === elements.length ? ambiguous : 'Rewritten question: ' + line.rewrite.question;
    const parts = [make('h2', title, { id: 'outcome', tabindex: '-1' })];
    if (open && open < elements.length) parts.push(note(ambiguous));
    else if (!open && !line.sql) parts.push(note(noStatement));
    return parts;
}
function showStatement(line) {
    const parts = [make('pre', line.sql, { id: 'sql' })], rewritten = line.rewrite && line.rewrite.elements.length;
    const title = !line.wording ? 'Result' : (line.ask ? 'Likeliest so far: ' : 'Result: ') + line.wording;
    if (!rewritten) parts.unshift(make('h2', title, { id: 'outcome', tabindex: '-1' }));
    if (line.confidence !== undefined) parts.push(note(Math.floor(100 * line.confidence + 1e-6) + ' % sure'));
    if (line.auto && !line.ask && !line.turns.length) parts.push(note(line.auto.why));
    return parts;
}
function showResult(line) {
    const parts = [];
    if (line.regenerated) parts.push(note('None of the first statements was meant; these are others.'));
    if (line.stop === 'escalated')
        parts.push(make('h2', 'No statement seems to be yours: a person has to read the question.', { class: 'error', id: 'outcome', tabindex: '-1' }));
    if (line.rewrite && line.rewrite.elements.length) parts.push(...showRewrite(line));
    if (line.sql) parts.push(...showStatement(line));
    if (line.result && line.result.rows) {
        const others = make('div', undefined, { class: 'others' });
        others.append(button('Save rows as CSV', saveRows, { class: 'side', id: 'save' }));
        parts.push(showRows(line.result), others);
    } else if (line.result) parts.push(make('p', 'It does not run: ' + line.result.message, { class: 'error' }));
    $('result').replaceChildren(...parts);
}

/* Shows a reply, moves the focus to the open question or else to the result, and returns the text of the status. */
async function showLine(line) {
    showAsk(line);
    showResult(line);
    await putLink(line.session);
    const place = $('ask') || $('outcome');
    if (place) place.focus();
    if (line.ask) return 'Question ' + line.ask.turn + ': choose one of ' + line.ask.options.length + ' answers.';
    if (!line.sql && $('outcome')) return $('outcome').textContent;
    return line.result && line.result.rows ? 'The result has ' + (line.result.truncated ? 'more than ' : '') + count(line.result.rows.length) + '.' : '';
}
function answer(said) {
    work(async () => {
        const line = await post('answer', { session: sessions[sessions.length - 1].session, answer: said });
        sessions.push(line);
        return showLine(line);
    });
}
function undo() {
    work(async () => {
        if (sessions.length > 1) sessions.pop();
        else sessions = [await post('undo', { session: sessions[0].session })];
        return showLine(sessions[sessions.length - 1]);
    });
}

/* A new question, or the dialogue of a link */

async function show(line, known) {
    sessions = [line];
    showKnown(known);
    document.title = known.question + ' - ambit';
    const said = await showLine(line);
    await showSchema(known);
    return said;
}
async function ask() {
    if (!listed) await listDatabases();
    if (!$('database').value) throw new Error('Choose a database.');
    const line = await post('ask', { id: 1, question: $('question').value, db_id: $('database').value });
    return show(line, line);
}
/* A session keeps no sentence of detector and tagger: the detector is asked again. */
async function openLink() {
    const session = await sessionOf(location.hash), line = await post('show', { session }), record = line.session.record;
    const detects = (await get('health')).detector;
    const detector = detects ? await post('detect', { question: record.question, db_id: record.db_id }) : null;
    const known = { question: record.question, db_id: record.db_id, detector, sentence: detector && detector.sentence, tagger: null, session };
    $('question').value = record.question;
    $('database').value = record.db_id;
    return show(line, known);
}
async function begin() {
    await listDatabases();
    return location.hash.startsWith('#session=') ? openLink() : '';
}
$('form').onsubmit = event => {
    event.preventDefault();
    token = $('token').value;
    work(ask);
};
$('database').onchange = () => remember($('database').value);
$('token').onchange = () => {
    token = $('token').value;
    if (!$('question').value) work(begin);
};
window.onhashchange = () => work(begin);
work(begin);
$('question').focus();
