"use strict";
(() => {
const machine = 255; // the CPU of what is no CPU's
const axisHigh = 18, scaleHigh = 15, taskHigh = 26, trapHigh = 14, waitHigh = 13, bandHigh = 15, gap = 10;
const nameMost = 170; // pixels for the names of lanes
const lasts = new Set(["call", "sync", "stop", "grace", "lock"]); // drawn below a lane
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

class Viewer {
	constructor(run, section, host) {
		this.run = restore(run);
		this.section = section;
		this.host = host;
		this.$ = s => section.querySelector(s);
		this.lanes = this.$(".lanes");
		this.canvas = this.$("canvas");
		this.byTime = false;
		this.step = -1;
		this.rows();
		this.from = 0;
		this.to = Math.max(1, this.run.n - 1);
		const { seq, n } = this.run, box = this.$(".number");
		section.style.setProperty("--digits", String(seq[n - 1] ?? 0).length);
		this.lanes.setAttribute("aria-valuemin", box.min = seq[0] ?? 0);
		this.lanes.setAttribute("aria-valuemax", box.max = seq[n - 1] ?? 0);
		this.$(".range").textContent = `of ${seq[0] ?? 0} to ${seq[n - 1] ?? 0}`;
		this.lists();
		this.listen();
	}

	// rows finds where what is drawn: each CPU has a lane of tasks, traps above them and
	// waits below, and the probes' states come last.
	rows() {
		const r = this.run, deep = [], waits = [];
		for (let c = 0; c < r.cpus; c++) { deep[c] = 0; waits[c] = []; }
		const spans = r.spans.filter(([, cpu]) => cpu < r.cpus), depths = spans.map(([kind, cpu, , , from, to, depth]) => {
			const k = r.text(kind);
			if (k === "trap") deep[cpu] = Math.max(deep[cpu], depth + 1);
			if (!lasts.has(k)) return depth;
			const free = waits[cpu].findIndex(end => end <= from), row = free < 0 ? waits[cpu].length : free;
			waits[cpu][row] = to;
			return row;
		});
		let y = axisHigh;
		this.lane = [];
		for (let c = 0; c < r.cpus; c++) {
			const top = y + deep[c] * trapHigh;
			this.lane.push({ top: y, task: top, wait: top + taskHigh, end: top + taskHigh + waits[c].length * waitHigh });
			y = top + taskHigh + waits[c].length * waitHigh + gap;
		}
		const rows = new Map();
		const row = (cpu, y, high) => rows.get(y) ?? rows.set(y, Object.assign(new Row(y, high), { cpu })).get(y);
		spans.forEach(([kind, cpu, task, says, from, to], i) => {
			const k = r.text(kind), l = this.lane[cpu], name = r.text(says), whose = r.text(task);
			if (k === "trap") row(cpu, l.task - (depths[i] + 1) * trapHigh, trapHigh - 1).add(from, to, k, name, whose);
			else if (lasts.has(k)) row(cpu, l.wait + depths[i] * waitHigh, waitHigh - 1).add(from, to, k, name, whose);
			else row(cpu, l.task, taskHigh - 1).add(from, to, name === "idle" ? "idle" : k, name, whose);
		});
		this.spans = [...rows.values()];
		this.names = this.lane.map((l, i) => ({ name: "cpu" + i, y: l.task + taskHigh / 2 }));
		rows.clear();
		for (const [place, state, from, to] of r.bands) {
			const name = r.text(place);
			if (!rows.has(name)) {
				rows.set(name, new Row(y, bandHigh));
				this.names.push({ name, y: y + bandHigh / 2 });
				y += bandHigh + 2;
			}
			const kind = { armed: "trap", optimizing: "lock", optimized: "wait", unoptimizing: "lock" }[r.text(state)] || "idle";
			rows.get(name).add(from, to, kind, r.text(state), "");
		}
		this.bands = [...rows.values()];
		this.high = y + 2 + scaleHigh;
		this.canvas.style.height = this.high + "px"; // which the lanes are moved in
		this.arrowEnds = [];
		for (const [, , to] of r.arrows) this.arrowEnds.push(Math.max(to, this.arrowEnds.at(-1) ?? -1));
	}

	pos(step) { return this.byTime ? this.run.time[step] - this.run.time[0] : step; }
	ends() { return this.byTime ? Math.max(1, this.pos(this.run.n - 1)) : Math.max(1, this.run.n - 1); }
	x(step) { return this.gutter + (this.pos(step) - this.from) / (this.to - this.from) * (this.wide - this.gutter - 8); }

	// posAt returns what is drawn at x.
	posAt(x) { return this.from + (x - this.gutter) / (this.wide - this.gutter - 8) * (this.to - this.from); }

	// stepAt returns the step that is drawn nearest to x, of a CPU if y is in its lane.
	stepAt(x, y) {
		const v = this.posAt(x), s = this.stepBefore(v);
		const nearer = s + 1 < this.run.n && this.pos(s + 1) - v < v - this.pos(s) ? s + 1 : s;
		const cpu = this.lane.findIndex(l => y >= l.top && y < l.end);
		if (cpu < 0 || this.run.cpu[nearer] === cpu) return nearer;
		for (let d = 1; d < 200; d++) {
			for (const s of [nearer - d, nearer + d]) {
				if (this.run.cpu[s] === cpu && Math.abs(this.x(s) - x) < 24) return s;
			}
		}
		return nearer;
	}

	// colours are those of the page, or, for paper, those by light.
	colours(light = false) {
		const rules = [...document.styleSheets[0].cssRules].filter(r => r.selectorText === ":root"); // outside of any @media
		const computed = getComputedStyle(document.documentElement);
		this.colour = name => (light ? rules.map(r => r.style.getPropertyValue("--" + name)).findLast(v => v) : computed.getPropertyValue("--" + name)).trim();
	}

	draw() {
		this.queued = false;
		const began = performance.now();
		this.wide = this.lanes.clientWidth;
		const scale = window.devicePixelRatio || 1, c = this.canvas.getContext("2d");
		if (this.canvas.width !== Math.round(this.wide * scale) || this.canvas.height !== Math.round(this.high * scale)) {
			this.canvas.width = Math.round(this.wide * scale);
			this.canvas.height = Math.round(this.high * scale);
		}
		c.setTransform(scale, 0, 0, scale, 0, 0);
		c.clearRect(0, 0, this.wide, this.high);
		c.font = font;
		c.textBaseline = "middle";
		this.gutter = Math.min(nameMost, this.wide / 4, 12 + Math.max(...["event 0", ...this.names.map(n => n.name)].map(n => wideOf(c, n))));
		c.save();
		c.beginPath();
		c.rect(this.gutter - 4, 0, this.wide - this.gutter + 4, this.high);
		c.clip();
		const labels = this.drawSpans(c), fg = this.colour("fg");
		const heads = this.drawArrows(c);
		this.drawSteps(c);
		for (const [says, x, y, ground] of labels) {
			c.fillStyle = ground; // so that no arrow goes through it
			c.fillRect(x - 1, y - 5, wideOf(c, says) + 2, 10);
			c.fillStyle = fg;
			c.fillText(says, x, y);
		}
		this.drawHeads(c, heads);
		this.drawScale(c);
		this.drawMarks(c);
		c.restore();
		c.fillStyle = fg;
		c.save();
		c.fillStyle = this.colour("soft");
		c.fillText(this.byTime ? "time" : "event", 4, this.high - scaleHigh / 2 + 1.5);
		c.restore();
		for (const { name, y } of this.names) c.fillText(shorten(c, name, this.gutter - 10, name.lastIndexOf("+")), 4, y);
		this.host.drew(performance.now() - began);
	}

	// drawSpans draws what can be seen: of what is narrower than a pixel one a pixel. It
	// returns their names, where there is room.
	drawSpans(c) {
		const kinds = ["task", "idle", "trap", "call", "wait", "stop", "lock"], labels = [];
		const ground = Object.fromEntries(kinds.map(k => [k, this.colour(k)])), edge = Object.fromEntries(kinds.map(k => [k, this.colour(k + "-edge")]));
		ground.sync = ground.grace = ground.wait;
		edge.sync = edge.grace = edge.wait;
		for (const row of [...this.spans, ...this.bands]) {
			for (const { from, to, kind, says } of this.seen(row.items, row.ends, i => row.items[i].from)) {
				const x0 = Math.round(this.x(from)), x1 = Math.max(Math.round(this.x(to)), x0 + 1), left = Math.max(x0, this.gutter);
				c.fillStyle = x1 - x0 > 3 ? ground[kind] : edge[kind];
				c.fillRect(x0, row.y, x1 - x0, row.high);
				if (x1 - x0 > 3) {
					c.strokeStyle = edge[kind];
					c.strokeRect(x0 + 0.5, row.y + 0.5, x1 - x0 - 2, row.high - 1);
				}
				const room = Math.min(x1, this.wide) - left - 6, name = room < labelLeast ? "" : label(c, says, room);
				if (name !== "") labels.push([name, left + 3, row.y + Math.min(row.high, bandHigh) / 2 + 0.5, ground[kind]]);
			}
		}
		return labels;
	}

	// seen yields those of a list that can be seen: from what is narrower than a pixel on it
	// goes to the first that ends beyond that pixel.
	*seen(list, ends, from) {
		let i = below(list.length, this.from, k => this.pos(ends[k]));
		while (i < list.length && this.pos(from(i)) <= this.to) {
			yield list[i];
			const next = this.posAt(Math.floor(this.x(ends[i])) + 1);
			if (++i < list.length && this.pos(ends[i]) < next) i = below(list.length, next, k => this.pos(ends[k]));
		}
	}

	// drawArrows returns where their heads are, which names don't cover.
	drawArrows(c) {
		const r = this.run, drawn = new Set(), heads = [];
		c.strokeStyle = this.colour("soft");
		c.globalAlpha = this.dense() ? 0.4 : 0.8;
		for (let i = below(r.arrows.length, this.from, k => this.pos(this.arrowEnds[k])); i < r.arrows.length; i++) {
			const [kind, from, to] = r.arrows[i];
			if (this.pos(from) > this.to) break;
			if (this.pos(to) < this.from || r.cpu[from] === r.cpu[to] || r.cpu[from] === machine || r.cpu[to] === machine) continue;
			const x0 = this.x(from), x1 = this.x(to), key = `${r.cpu[from]} ${r.cpu[to]} ${Math.floor(x1 / 2)}`;
			if (drawn.has(key)) continue; // there is no room between them
			drawn.add(key);
			const a = this.lane[r.cpu[from]], b = this.lane[r.cpu[to]], down = b.task > a.task;
			const above = r.text(kind) === "ipi" ? (r.depth[to] + 1) * trapHigh : 0; // where the trap's bar is
			const y0 = down ? a.task + taskHigh - 1 : a.task, y1 = down ? b.task - above : b.task + taskHigh - 1;
			c.setLineDash(r.text(kind) === "wake" ? [2, 3] : []);
			c.beginPath();
			c.moveTo(x0, y0);
			c.lineTo(x1, y1);
			c.stroke();
			heads.push([x1, y1, Math.atan2(y1 - y0, x1 - x0)]);
		}
		c.setLineDash([]);
		c.globalAlpha = 1;
		return heads;
	}

	drawHeads(c, heads) {
		c.fillStyle = this.colour("soft");
		for (const [x, y, turn] of heads) {
			c.beginPath();
			c.moveTo(x, y);
			c.lineTo(x - 7 * Math.cos(turn - 0.4), y - 7 * Math.sin(turn - 0.4));
			c.lineTo(x - 7 * Math.cos(turn + 0.4), y - 7 * Math.sin(turn + 0.4));
			c.fill();
		}
	}

	// dense reports whether steps are closer than a few pixels.
	dense() { return (this.to - this.from) / this.wide > (this.byTime ? this.ends() / this.run.n : 1) * 0.3; }

	// drawSteps draws a tick for each step: taller for stores.
	drawSteps(c) {
		const r = this.run, store = this.colour("link"), dense = this.dense();
		for (let cpu = 0; cpu < r.cpus; cpu++) {
			const end = this.lane[cpu].task + taskHigh - 1, ticks = r.ticks[cpu], stores = r.stores[cpu];
			c.fillStyle = this.colour(dense ? "soft" : "fg");
			for (const s of this.seen(ticks, ticks, i => ticks[i])) c.fillRect(this.x(s) - 0.5, end - (dense ? 3 : 5), 1, dense ? 3 : 5);
			c.fillStyle = store;
			for (const s of this.seen(stores, stores, i => stores[i])) c.fillRect(this.x(s) - 1, end - 11, dense ? 1.5 : 2.5, 11);
		}
	}

	// drawScale says below everything which events these are, or which cycles of the run.
	drawScale(c) {
		const r = this.run, of = this.byTime ? v => v + r.time[0] : v => r.seq[Math.max(0, Math.min(r.n - 1, Math.round(v)))];
		const least = of(this.from), most = of(this.to), room = (this.wide - this.gutter) / 90;
		const by = [1, 2, 5].map(k => k * 10 ** Math.ceil(Math.log10(Math.max(1, (most - least) / room / k)))).sort((a, b) => a - b)[0];
		c.fillStyle = this.colour("soft");
		c.textAlign = "center";
		let free = this.gutter - 4;
		for (let v = Math.ceil(least / by) * by; v <= most; v += by) {
			const x = this.byTime ? this.gutter + (v - r.time[0] - this.from) / (this.to - this.from) * (this.wide - this.gutter - 8) : this.x(this.stepOf(v));
			const name = this.byTime ? `${number.format(v)} cycles` : String(v), wide = wideOf(c, name);
			if (x - wide / 2 < free || x + wide / 2 > this.wide || !this.byTime && r.seq[this.stepOf(v)] !== v) continue;
			c.fillRect(Math.round(x), this.high - scaleHigh, 1, 3);
			c.fillText(name, x, this.high - scaleHigh / 2 + 1.5);
			free = x + wide / 2 + 8;
		}
		c.textAlign = "left";
	}

	// stepBefore returns the last step that isn't drawn behind pos.
	stepBefore(pos) { return Math.max(0, below(this.run.n, pos + 1e-6, s => this.pos(s)) - 1); }

	// drawMarks draws the violation, the deviations and the place where the page is.
	drawMarks(c) {
		const r = this.run;
		if (r.violation >= 0) {
			const x = this.x(r.violation), l = this.lane[r.cpu[r.violation]] || this.lane[0], y = l.task + taskHigh / 2;
			c.strokeStyle = this.colour("mark");
			c.lineWidth = 3;
			c.beginPath();
			c.moveTo(x - 6, y - 6); c.lineTo(x + 6, y + 6);
			c.moveTo(x - 6, y + 6); c.lineTo(x + 6, y - 6);
			c.stroke();
			c.lineWidth = 1;
		}
		c.fillStyle = this.colour("mark");
		const there = this.run.turns.map((t, i) => ({ x: this.x(t.step), step: t.step, name: String(i + 1) })).filter(t => t.step >= 0).sort((a, b) => a.step - b.step);
		there.forEach((t, i) => {
			c.beginPath();
			c.moveTo(t.x - 5, 3); c.lineTo(t.x + 5, 3); c.lineTo(t.x, 12);
			c.fill();
			const next = there[i + 1], wide = name => wideOf(c, name) + 10;
			if (next && next.x - t.x < wide(t.name) + 6) { // they are close: the last of them has their numbers
				next.name = `${t.name.split("–")[0]}–${next.name}`;
				next.first = t.first ?? t.x;
				return;
			}
			const left = t.x + wide(t.name) > this.wide;
			c.textAlign = left ? "right" : "left";
			c.fillText(t.name, left ? (t.first ?? t.x) - 6 : t.x + 6, 8);
		});
		c.textAlign = "left";
		c.fillStyle = this.colour("cursor");
		c.fillRect(this.x(this.step) - 0.75, 0, 1.5, this.high);
	}

	redraw() {
		if (this.queued) return;
		this.queued = true;
		requestAnimationFrame(() => this.draw());
	}

	// zoom draws by times as much around the step.
	zoom(by) {
		const all = this.ends(), at = this.pos(this.step);
		const wide = Math.min(all, Math.max(Math.min(8, all), (this.to - this.from) * by));
		const share = Math.min(1, Math.max(0, (at - this.from) / (this.to - this.from)));
		this.from = Math.max(0, Math.min(all - wide, at - share * wide));
		this.to = this.from + wide;
		this.redraw();
	}

	pan(by) {
		const wide = this.to - this.from;
		this.from = Math.max(0, Math.min(this.ends() - wide, this.from + by * wide));
		this.to = this.from + wide;
		this.redraw();
	}

	show() {
		const lane = this.lane[this.run.cpu[this.step]], { scrollTop, clientHeight } = this.lanes;
		if (lane && lane.top < scrollTop) this.lanes.scrollTop = lane.top - gap;
		else if (lane && lane.task + taskHigh > scrollTop + clientHeight) this.lanes.scrollTop = lane.end + gap - clientHeight;
		const at = this.pos(this.step), wide = this.to - this.from;
		if (at < this.from || at > this.to) {
			this.from = Math.max(0, Math.min(this.ends() - wide, at - wide / 2));
			this.to = this.from + wide;
		}
		this.redraw();
	}

	axis() {
		this.byTime = !this.byTime;
		this.from = 0;
		this.to = this.ends();
		this.$("[data-go=axis]").textContent = this.byTime ? "by event" : "by time";
		this.redraw();
	}

	// go shows a step.
	go(step) {
		step = Math.max(0, Math.min(this.run.n - 1, Math.trunc(step)));
		if (step === this.step || Number.isNaN(step)) return;
		this.step = step;
		this.section.dataset.step = step;
		this.now();
		this.patches();
		this.cpus();
		this.neighbours();
		this.keepRoom();
		this.mark(this.$(".deviations"), this.run.turns);
		this.mark(this.$(".story"), this.run.story);
		this.$(".number").value = this.run.seq[step];
		this.show();
		this.host.went(this);
	}

	whose(s) { return this.run.text(this.run.task[s]) === "" ? this.who(s) : `${this.who(s)} ${this.run.text(this.run.task[s])}`; }

	who(s) { return this.run.cpu[s] === machine ? "machine" : "cpu" + this.run.cpu[s]; }

	// event names a step as the columns of replay do.
	event(s) { return `event ${this.run.seq[s]}`; }

	// stepOf returns the step that an event is; of one that isn't on the page, the next.
	stepOf(event) { return Math.min(this.run.n - 1, below(this.run.n, event, s => this.run.seq[s])); }

	// keepRoom lets what is above the events become higher, and not lower again: what is
	// below it stays where it is while one goes on.
	keepRoom() {
		const list = [".now", ".patches", ".cpus"].map(this.$), highs = list.map(e => e.offsetHeight);
		list.forEach((e, i) => { if (highs[i] > (e.least ?? 0)) e.style.minHeight = `${e.least = highs[i]}px`; });
	}

	now() {
		const r = this.run, s = this.step, p = this.$(".now");
		const words = `${this.event(s)}, ${this.whose(s)}: ${r.text(r.says[s])}`;
		p.replaceChildren(element("div", { className: "says" }, ...folded(words)));
		this.lanes.setAttribute("aria-valuenow", r.seq[s]);
		this.lanes.setAttribute("aria-valuetext", words);
		let more = `${r.text(r.kind[s])}, at ${number.format(r.time[s])} cycles of the run`;
		if (r.cpu[s] !== machine && r.clock[s] !== r.time[s]) more += `; ${this.who(s)}'s own clock shows ${number.format(r.clock[s])}`;
		p.append(element("div", { textContent: more + "." }));
		r.turns.forEach((t, i) => { if (t.step === s) p.append(element("div", { className: "mark", textContent: `Deviation ${i + 1} comes before it: ${t.words}` })); });
		if (s === r.violation) p.append(element("div", { className: "mark", textContent: "This is the violation: " + r.headline.match(/^\S+ [^\s:]+|/)[0] }));
	}

	// cpus says in words what is drawn of each CPU at this step.
	cpus() {
		const r = this.run, end = r.n - 1, rows = [];
		for (let cpu = 0; cpu < r.cpus; cpu++) {
			const there = this.spans.filter(row => row.cpu === cpu).map(row => row.at(this.step, end)).filter(o => o);
			const task = there.find(o => o.kind === "task" || o.kind === "idle"), of = kind => there.filter(o => o.kind === kind);
			const list = [...of("trap").reverse().map(o => `in ${o.says}`), ...of("stop").map(o => `stopped by ${o.says}`)];
			for (const [kinds, verb] of [[["call"], "in"], [["sync", "grace"], "waits:"], [["lock"], "holds"]]) {
				const by = new Map();
				for (const o of kinds.flatMap(of)) by.set(o.task, [...by.get(o.task) ?? [], o.says]);
				for (const [name, things] of by) list.push(`${name === task?.task ? "" : name + " "}${verb} ${things.join(", ")}`);
			}
			rows.push(element("tr", {}, element("th", { scope: "row", textContent: "cpu" + cpu }), element("td", { textContent: task?.says ?? "not seen yet" }), element("td", { textContent: list.join("; ") })));
		}
		this.$(".cpus tbody").replaceChildren(...rows);
	}

	// patches shows the bytes as they are at this step.
	patches() {
		const most = 6, there = [];
		for (const t of this.run.texts) {
			const v = last(t.versions, this.step, v => v[0]);
			if (v < 0) continue;
			const step = t.versions[v][0];
			there.push({ t, v, busy: this.standing(t).length > 0, now: step === this.step, step });
		}
		const chosen = there.length <= most ? there : there.toSorted((a, b) => b.busy - a.busy || b.now - a.now || b.t.site - a.t.site || b.step - a.step).slice(0, most);
		const list = chosen.map(p => this.patch(p.t, p.v));
		if (there.length > most) list.push(element("p", { className: "soft", textContent: `${there.length - most} more, where nobody is, haven't changed since.` }));
		if (there.length === 0) list.push(element("p", { className: "soft", textContent: "No text is written to." }));
		this.$(".patches").replaceChildren(...list);
	}

	patch(t, v) {
		const r = this.run, [step, , , listing, gone] = t.versions[v], bytes = t.bytes[v];
		const box = element("div", { className: t.site ? "patch site" : "patch" }), name = element("h4", {}, ...folded(t.name + (gone ? " (freed)" : "")));
		box.append(name);
		if (step >= 0) name.append(element("span", { className: "soft", textContent: ` since ${this.event(step)}, by ${this.whose(step)}` }));
		const whole = bytes.length <= 16 && !gone;
		if (!whole) {
			for (const s of this.standing(t)) box.append(element("div", { className: gone ? "mark" : "", textContent: `${s.says} ${s.ran.join(" ")}${s.ran.length > 0 ? " at " : ""}${t.name}+0x${s.off.toString(16)}` }));
		}
		if (whole) box.append(element("div", { className: "scroll", tabIndex: -1 }, ...this.table(t, v)));
		if (!gone && !whole) {
			box.append(element("details", {}, element("summary", { textContent: `${bytes.length} bytes` }), element("div", { className: "listing", textContent: r.text(listing) || "being written" })));
		} else if (!gone) {
			box.append(element("div", { className: "listing", textContent: r.text(listing) }));
		}
		return box;
	}

	// table has a row for memory, and one for each CPU that may fetch other bytes, or is
	// there.
	table(t, v) {
		const bytes = t.bytes[v], now = t.versions[v][0] === this.step, linked = t.bytes[0];
		const table = element("table", { className: "bytes" }, element("caption", { className: "unseen", textContent: "bytes of " + t.name }));
		const row = (name, cells, className = "") => table.append(element("tr", { className }, element("th", { scope: "row", textContent: name }), ...cells));
		if (t.site && bytes.some((b, i) => b !== linked[i])) row("linked", linked.map(b => element("td", { textContent: b })), "linked");
		row("memory", bytes.map((b, i) => {
			const k = t.since[v][i], cell = element("td"), wrote = t.versions[k][0];
			if (now && k === v && v > 0) cell.className = "new";
			if (wrote < 0) {
				cell.textContent = b;
				cell.title = "as linked";
			} else {
				const says = `byte ${i}: ${b}, written by ${this.who(wrote)} in ${this.event(wrote)}`;
				const jump = element("button", { type: "button", textContent: b, title: says, onclick: () => this.go(wrote) });
				jump.setAttribute("aria-label", says);
				cell.append(jump);
			}
			return cell;
		}));
		const fresh = [], stale = new Map();
		t.seen.forEach((list, cpu) => {
			const at = last(list, this.step, s => s[0]);
			if (at < 0) return;
			const old = this.run.text(list[at][2]);
			if (old === bytes.join(" ")) fresh.push(cpu);
			else stale.set(old, [...stale.get(old) ?? [], cpu]);
		});
		for (const [old, cpus] of stale) {
			row(`${cpuSet(cpus)} may still fetch`, old.split(" ").map((b, i) => {
				const stale = b !== bytes[i];
				return element("td", { textContent: b, className: stale ? "stale" : "", title: stale ? `${b} as it was, or ${bytes[i]}` : "" });
			}));
		}
		for (const s of this.standing(t)) {
			row(s.says, bytes.map((_, i) => {
				const k = i - s.off, there = k >= 0 && k < s.ran.length;
				if (s.ran.length === 0) return element("td", { className: "stands", textContent: k === 0 ? "▲" : "" });
				return element("td", { className: there ? "ran" + (k === 0 ? " begins" : "") + (k === s.ran.length - 1 ? " ends" : "") : "", textContent: s.ran[k] ?? "" });
			}));
		}
		if (fresh.length === 0 || !t.site) return [table];
		const who = fresh.length === this.run.cpus && fresh.length > 1 ? "each CPU" : cpuSet(fresh);
		return [table, element("div", { className: "soft", textContent: `${who} fetch${who.includes("-") || who.includes(",") ? "" : "es"} what memory holds` })];
	}

	// standing returns who is in a patch, and where.
	standing(t) {
		const r = this.run, there = [];
		r.stood.forEach(list => {
			const i = last(list, this.step, s => s[0]);
			if (i < 0) return;
			const [, task, cpu, ...at] = list[i], who = cpu >= 0 ? `cpu${cpu}` : `${r.text(task)}, switched out,`;
			for (let k = 0; k < at.length; k += 4) {
				const [patch, off, ran, trap] = at.slice(k, k + 4).map((v, i) => i < 2 ? v : r.text(v));
				if (r.texts[patch] !== t) continue;
				const does = ran !== "" ? "runs" : trap === "" ? "is at" : trap === "#BP" ? "in #BP, saved ip" : "comes back to";
				there.push({ says: `${who} ${does}`, off, ran: ran === "" ? [] : ran.split(" ") });
			}
		});
		return there;
	}

	// neighbours lists the steps around this one.
	neighbours() {
		const r = this.run, half = document.getElementById("run1") ? 5 : 8, list = [];
		const from = Math.max(0, this.step - half);
		for (let s = from; s < Math.min(r.n, from + 2 * half + 1); s++) {
			const b = element("button", { type: "button", tabIndex: -1, onclick: () => this.go(s) },
				element("span", { className: "no", textContent: r.seq[s] }), " ", element("span", { className: "who", textContent: this.who(s) }), " ",
				element("span", { className: "what", style: r.depth[s] > 0 ? `padding-left: ${Math.min(r.depth[s], 6)}em` : "" }, ...folded(r.text(r.says[s]))));
			const item = element("li", { className: r.text(r.class[s]) }, b);
			if (s === this.step) {
				item.classList.add("at");
				b.setAttribute("aria-current", "step");
			}
			list.push(item);
		}
		this.$(".steps").replaceChildren(...list);
	}

	// lists makes the deviations and the story.
	lists() {
		const fill = (list, items, lead, words) => list.replaceChildren(...items.map(t =>
			element("li", {}, element("button", { type: "button", title: t.line || "", onclick: () => { if (t.step >= 0) this.go(t.step); } },
				element("span", { className: "no-event", textContent: t.step < 0 ? "" : `${lead} ${this.run.seq[t.step]}: ` }), words(t)))));
		fill(this.$(".deviations"), this.run.turns, "before event", t => t.words);
		fill(this.$(".story"), this.run.story, "event", t => t.text);
		if (this.run.turns.length === 0) this.$(".deviations").replaceChildren(element("li", { textContent: "none: this is the default run" }));
		if (this.run.story.length === 0) this.$(".story").replaceChildren(element("li", { textContent: "nothing is broken" }));
	}

	mark(list, items) {
		items.forEach((t, i) => list.children[i].classList.toggle("at", t.step === this.step));
	}

	// turn goes to the next deviation, or the one before.
	turn(by) {
		const steps = this.run.turns.map(t => t.step).filter(s => by > 0 ? s > this.step : s < this.step);
		if (steps.length > 0) this.go(by > 0 ? Math.min(...steps) : Math.max(...steps));
	}

	// seek goes on until a step is as wanted.
	seek(by, wanted) {
		for (let s = this.step + by; s >= 0 && s < this.run.n; s += by) {
			if (wanted(s)) {
				this.go(s);
				return;
			}
		}
	}

	sameCPU(by) {
		const cpu = this.run.cpu[this.step];
		this.seek(by, s => this.run.cpu[s] === cpu);
	}

	store(by) { this.seek(by, s => this.run.text(this.run.class[s]) === "store"); }

	command(what) {
		switch (what) {
		case "first": this.go(0); break;
		case "back": this.go(this.step - 1); break;
		case "on": this.go(this.step + 1); break;
		case "last": this.go(this.run.n - 1); break;
		case "violation": if (this.run.violation >= 0) this.go(this.run.violation); break;
		case "closer": this.zoom(0.5); break;
		case "wider": this.zoom(2); break;
		case "all": this.from = 0; this.to = this.ends(); this.redraw(); break;
		case "axis": this.axis(); break;
		}
	}

	listen() {
		this.section.addEventListener("click", e => {
			const b = e.target.closest("[data-go]");
			if (b) this.command(b.dataset.go);
		});
		this.section.addEventListener("pointerdown", () => this.host.activate(this), true);
		this.section.addEventListener("focusin", () => this.host.activate(this));
		this.$("[data-go=violation]").disabled = this.run.violation < 0;
		const box = this.$(".number");
		box.addEventListener("change", () => {
			if (box.value !== "") this.go(this.stepOf(Number(box.value)));
			box.value = this.run.seq[this.step];
		});
		box.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === "Escape") setTimeout(() => this.lanes.focus({ preventScroll: true })); });
		const scrub = e => {
			const box = this.canvas.getBoundingClientRect();
			this.go(this.stepAt(e.clientX - box.left, e.clientY - box.top));
		};
		this.canvas.addEventListener("pointerdown", e => {
			this.canvas.setPointerCapture(e.pointerId);
			scrub(e);
		});
		this.canvas.addEventListener("pointermove", e => {
			if (e.buttons & 1) scrub(e);
			else this.hint(e.offsetX, e.offsetY);
		});
		this.canvas.addEventListener("wheel", e => {
			if (e.ctrlKey || e.metaKey) this.zoom(e.deltaY > 0 ? 1.25 : 0.8);
			else if (e.deltaX !== 0 || e.shiftKey) this.pan((e.deltaX || e.deltaY) / this.wide);
			else return;
			e.preventDefault();
		}, { passive: false });
		new ResizeObserver(() => {
			if (this.lanes.clientWidth !== this.roomIn) for (const e of this.section.querySelectorAll(".now, .patches, .cpus")) e.style.minHeight = `${e.least = 0}px`;
			this.roomIn = this.lanes.clientWidth;
			this.redraw();
		}).observe(this.lanes);
	}

	// hint says what is drawn at a place, when the mouse rests there.
	hint(x, y) {
		const turn = y < axisHigh ? this.run.turns.findIndex(t => t.step >= 0 && Math.abs(this.x(t.step) - x) < 7) : -1;
		const row = [...this.spans, ...this.bands].find(o => y >= o.y && y < o.y + o.high), at = this.posAt(x);
		const i = row ? below(row.items.length, at, k => this.pos(row.ends[k])) : 0, item = row?.items[i];
		let says = "";
		if (turn >= 0) says = `Deviation ${turn + 1}, before ${this.event(this.run.turns[turn].step)}: ${this.run.turns[turn].words}`;
		else if (item && this.pos(item.from) <= at) says = `${item.says}: ${this.event(item.from)} to ${this.run.seq[item.to]}`;
		if (this.canvas.title !== says) this.canvas.title = says;
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

// A Host has the viewers of a page: one, or two that move together.
class Host {
	constructor(runs) {
		this.draws = [];
		this.viewers = runs.map((r, i) => new Viewer(r, document.getElementById("run" + i), this));
		this.active = this.viewers[0];
		this.together = this.viewers.length > 1;
		if (this.together) this.part();
		this.colours();
		window.addEventListener("beforeprint", () => this.print(true));
		window.addEventListener("afterprint", () => this.print(false));
		window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.colours());
		window.addEventListener("hashchange", () => this.fromHash());
		document.addEventListener("keydown", e => this.key(e));
		document.getElementById("keys-button").addEventListener("click", () => this.keys());
		this.fromHash();
		for (const v of this.viewers) if (v.step < 0) v.go(v.run.violation >= 0 ? v.run.violation : this.together ? this.parted : 0);
		performance.mark("ready");
		document.documentElement.dataset.ready = "yes";
	}

	// part finds where two runs part: up to there their steps are the same.
	part() {
		const [a, b] = this.viewers.map(v => v.run);
		let n = 0;
		while (n < a.n && n < b.n && a.cpu[n] === b.cpu[n] && a.text(a.says[n]) === b.text(b.says[n])) n++;
		this.parted = Math.min(n, a.n - 1, b.n - 1);
		const at = a.seq[this.parted], other = b.seq[this.parted] === at ? "" : ` (on the right ${b.seq[this.parted]})`;
		const says = element("p", { className: "parted" }, n === a.n && n === b.n ? "The same, event by event. " : `They part at event ${at}${other}. `);
		const both = element("input", { type: "checkbox", checked: true, onchange: e => { this.together = e.target.checked; } });
		says.append(element("button", { type: "button", textContent: "go there", onclick: () => this.viewers[0].go(this.parted) }), " ", element("label", {}, both, " move both"));
		document.querySelector("h1").after(says);
	}

	colours() {
		for (const v of this.viewers) {
			v.colours();
			v.redraw();
		}
	}

	// print draws by light, whatever the screen is, or as before.
	print(on) {
		for (const v of this.viewers) {
			v.colours(on);
			v.draw();
		}
	}

	activate(v) { this.active = v; }

	drew(ms) {
		this.draws.push(ms);
		if (this.draws.length > 500) this.draws.shift();
	}

	// went is told that a viewer shows another step: the other one goes to the same, or to
	// the same time behind where they part.
	went(v) {
		if (this.together && !this.following) {
			this.following = true;
			for (const o of this.viewers) {
				if (o !== v && v.step < this.parted) o.go(v.step);
				else if (o !== v) o.go(Math.max(this.parted, last(o.run.time, v.run.time[v.step], t => t)));
			}
			this.following = false;
		}
		clearTimeout(this.timer); // browsers allow few changes of the address a second
		this.timer = setTimeout(() => {
			const hash = "#" + this.viewers.map((v, i) => (i ? "right=" : "event=") + v.run.seq[v.step]).join("&");
			if (hash !== location.hash) history.replaceState(null, "", hash);
		}, 120);
	}

	// fromHash goes to where the address says: #event=91, #event=91&right=97; or #step=72,
	// counted from 0.
	fromHash() {
		const at = new URLSearchParams(location.hash.slice(1)), steps = at.has("step"), was = this.together;
		this.together = was && !at.has("right");
		[at.get(steps ? "step" : "event"), at.get("right")].forEach((n, i) => {
			const v = this.viewers[i];
			if (v && n && Number.isFinite(Number(n))) v.go(steps ? Number(n) : v.stepOf(Number(n)));
		});
		this.together = was;
	}

	keys() {
		const list = document.getElementById("keys");
		list.hidden = !list.hidden;
		document.getElementById("keys-button").setAttribute("aria-expanded", String(!list.hidden));
	}

	key(e) {
		if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input:not([type=checkbox])")) return;
		const v = this.active;
		switch (e.key) {
		case "ArrowLeft": if (e.shiftKey) v.sameCPU(-1); else v.go(v.step - 1); break;
		case "ArrowRight": if (e.shiftKey) v.sameCPU(1); else v.go(v.step + 1); break;
		case "PageUp": v.go(v.step - 20); break;
		case "PageDown": v.go(v.step + 20); break;
		case "Home": v.go(0); break;
		case "End": v.go(v.run.n - 1); break;
		case "d": v.turn(1); break;
		case "D": v.turn(-1); break;
		case "w": v.store(1); break;
		case "W": v.store(-1); break;
		case "g": v.$(".number").focus(); v.$(".number").select(); break;
		case "v": v.command("violation"); break;
		case "+": case "=": v.zoom(0.5); break;
		case "-": v.zoom(2); break;
		case "0": v.command("all"); break;
		case "t": v.axis(); break;
		case "?": this.keys(); break;
		default: return;
		}
		e.preventDefault();
	}
}

window.kpsim = new Host(JSON.parse(document.getElementById("data").textContent));
})();
