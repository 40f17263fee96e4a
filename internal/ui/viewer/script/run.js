const machine = 255; // the CPU of what is no CPU's
const axisHigh = 18, scaleHigh = 15, markHigh = 18, taskHigh = 26, insideHigh = 16, trapHigh = 14, waitHigh = 13, bandHigh = 15, gap = 10;
const nameMost = 170; // pixels for the names of lanes
const lasts = new Set(["call", "sync", "stop", "grace", "lock", "held"]); // drawn below a lane
const hatchings = { // by kind of spans, as the legend has them; tasks have none
	trap: "M-1,1l2,-2M0,8l8,-8M7,9l2,-2", wait: "M0,2.5h8M0,6.5h8", stop: "M-1,7l2,2M0,0l8,8M7,-1l2,2M-1,1l2,-2M0,8l8,-8M7,9l2,-2",
	lock: "M2.5,0v8M6.5,0v8", call: "M-1,7l2,2M0,0l8,8M7,-1l2,2", held: "M0,2.5h8M2.5,0v8",
};
const font = "11px system-ui, \"Liberation Sans\", Arial, sans-serif";
const number = new Intl.NumberFormat("en");
const shorter = { "call IPI": "IPI", "reschedule interrupt": "resched", "timer interrupt": "timer", "stop_machine": "stop" }; // where there is no room
const labelLeast = 14; // pixels

// below returns how many of the first n of something that goes up are below v.
function below(n, v, at) {
	let from = 0, to = n;
	while (from < to) {
		const mid = (from + to) >> 1;
		if (at(mid) < v) from = mid + 1; else to = mid;
	}
	return from;
}

// last returns the index of the last of a list whose key isn't above v; -1: all are.
function last(list, v, key) {
	let from = 0, to = list.length;
	while (from < to) {
		const mid = (from + to) >> 1;
		if (key(list[mid]) <= v) from = mid + 1; else to = mid;
	}
	return from - 1;
}

function element(name, props, ...children) {
	const e = Object.assign(document.createElement(name), props);
	e.append(...children);
	return e;
}

function restore(r) {
	for (let i = 1; i < r.seq.length; i++) {
		r.seq[i] += r.seq[i - 1];
		r.time[i] += r.time[i - 1];
	}
	for (let i = 0; i < r.seq.length; i++) r.clock[i] = r.time[i] - r.clock[i];
	r.text = i => r.strings[i];
	r.n = r.seq.length;
	for (const t of r.texts) {
		whole(t);
		t.seen = grouped(t.sights);
	}
	r.stood = grouped(r.stands);
	r.symbols = r.symbols.map(([name, at, len]) => ({ name: name.toLowerCase(), at: BigInt(at), len: BigInt(len) }));
	r.folds = r.folds.map(([from, to]) => ({ from, to, shut: true }));
	r.only = r.differs && new Uint8Array(r.n);
	for (const [from, to] of r.differs ?? []) r.only.fill(1, from, to + 1);
	r.ticks = [];
	r.stores = [];
	for (let c = 0; c < r.cpus; c++) {
		r.ticks.push([]);
		r.stores.push([]);
	}
	for (let s = 0; s < r.n; s++) {
		if (r.cpu[s] < r.cpus) (r.text(r.class[s]) === "store" ? r.stores : r.ticks)[r.cpu[s]].push(s);
	}
	return r;
}

// whole puts the bytes of each version together: but for the first only those are given
// that differ, and from where on; from -1, all are. since has the version that each is from.
function whole(t) {
	let was = [], since = [];
	t.bytes = [];
	t.since = [];
	t.versions.forEach(([, off, bytes], v) => {
		const list = bytes === "" ? [] : bytes.split(" ");
		const now = v === 0 || off < 0 ? list : [...was.slice(0, off), ...list, ...was.slice(off + list.length)];
		since = now.map((b, i) => b === was[i] ? since[i] : v);
		t.bytes.push(was = now);
		t.since.push(since);
	});
}

// grouped sorts rows by what comes second in each: a CPU, or a task.
function grouped(rows) {
	const list = [];
	for (const row of rows) (list[row[1]] ??= []).push(row);
	return list;
}

// A Row has what is drawn in one row, one behind the other, and where each ends.
class Row {
	constructor(y, high) {
		Object.assign(this, { y, high, items: [], ends: [] });
	}

	add(from, to, kind, says, task) {
		this.items.push({ from, to, kind, says, task });
		this.ends.push(to);
	}

	// at returns the item in which a step is: that which begins with it, rather than that which ends.
	at(step, end) {
		const i = last(this.items, step, o => o.from), o = this.items[i];
		return o && (step < o.to || o.to === end) ? o : undefined;
	}
}

// wideOf is how wide a text is, in pixels; all texts that are drawn have one font.
const wides = new Map();
function wideOf(c, text) {
	let wide = wides.get(text);
	if (wide === undefined) wides.set(text, wide = c.measureText(text).width);
	return wide;
}

// shorten cuts a text to a width; what it has from tail on stays.
function shorten(c, text, room, tail = -1) {
	const wide = wideOf(c, text), end = tail < 0 ? "" : text.slice(tail);
	if (wide <= room) return text;
	let n = Math.floor(text.length * room / wide);
	while (n > 1 && wideOf(c, text.slice(0, n) + "…" + end) > room) n--;
	return text.slice(0, Math.max(1, n)) + "…" + end;
}

// label returns what there is room for of the name of what is drawn: all of it, a shorter
// one, its beginning, or nothing.
function label(c, name, room) {
	if (wideOf(c, name) <= room) return name;
	const less = shorter[name] ?? name.split(/[:(]|_core/)[0];
	if (wideOf(c, less) <= room) return less;
	return room < 3 * labelLeast ? "" : shorten(c, name, room);
}

// folded says where a line may end: not among bytes that belong together, as far as eight;
// in long names behind an underscore.
function folded(text) {
	return text.split(/(\b(?:[0-9a-f?]{2} ){1,7}[0-9a-f?]{2}\b|->)/).flatMap((s, i) => {
		if (i % 2) return element("span", { className: "together", textContent: s });
		return /\w{21}/.test(s) ? s.split(/(?<=_)/).flatMap((part, k) => k ? [element("wbr"), part] : part) : s;
	});
}

// cpuSet names CPUs: cpu0-2, cpu5.
function cpuSet(list) {
	const runs = [];
	for (const c of list) {
		if (runs.at(-1)?.[1] === c - 1) runs.at(-1)[1] = c; else runs.push([c, c]);
	}
	return runs.map(([a, b]) => a === b ? `cpu${a}` : `cpu${a}-${b}`).join(", ");
}

// numbers names some that go up: 3, or 3–5.
function numbers(list) {
	return list.length > 1 ? `${list[0]}–${list.at(-1)}` : String(list[0] ?? "");
}
