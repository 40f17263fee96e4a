"use strict";
(() => {
const machine = 255; // the CPU of what is no CPU's
const gutter = 64, axisHigh = 18, taskHigh = 20, trapHigh = 13, waitHigh = 11, bandHigh = 15, gap = 8;
const order = { call: 0, sync: 1, stop: 1, grace: 1, lock: 2 }; // rows of waits below a lane
const number = new Intl.NumberFormat("en");

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
	for (const t of r.texts) t.bytes = whole(t.versions);
	return r;
}

// whole puts the bytes of each version together: but for the first only those are given
// that differ, and from where on; from -1, all are.
function whole(versions) {
	let was = [];
	return versions.map(([, off, bytes], i) => {
		const list = bytes === "" ? [] : bytes.split(" ");
		was = i === 0 || off < 0 ? list : [...was.slice(0, off), ...list, ...was.slice(off + list.length)];
		return was;
	});
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
		this.lanes.setAttribute("aria-valuemax", this.run.n - 1);
		this.$(".number").max = this.run.n - 1;
		this.lists();
		this.listen();
	}

	// rows finds where what is drawn: each CPU has a lane of tasks, traps above them and
	// waits below, and the probes' states come last.
	rows() {
		const r = this.run, deep = [], waits = [];
		for (let c = 0; c < r.cpus; c++) { deep[c] = 0; waits[c] = 0; }
		for (const [kind, cpu, , , , , depth] of r.spans) {
			const k = r.text(kind);
			if (cpu >= r.cpus) continue;
			if (k === "trap") deep[cpu] = Math.max(deep[cpu], depth + 1);
			if (k in order) waits[cpu] = Math.max(waits[cpu], order[k] + (k === "lock" ? depth : 0) + 1);
		}
		let y = axisHigh;
		this.lane = [];
		for (let c = 0; c < r.cpus; c++) {
			const top = y + deep[c] * trapHigh;
			this.lane.push({ top: y, task: top, wait: top + taskHigh, end: top + taskHigh + waits[c] * waitHigh });
			y = top + taskHigh + waits[c] * waitHigh + gap;
		}
		this.places = [];
		for (const [place] of r.bands) if (!this.places.includes(place)) this.places.push(place);
		this.bandTop = y;
		this.high = y + this.places.length * (bandHigh + 2) + 2;
	}

	pos(step) { return this.byTime ? this.run.time[step] - this.run.time[0] : step; }
	ends() { return this.byTime ? Math.max(1, this.pos(this.run.n - 1)) : Math.max(1, this.run.n - 1); }
	x(step) { return gutter + (this.pos(step) - this.from) / (this.to - this.from) * (this.wide - gutter - 8); }

	// stepAt returns the step that is drawn nearest to x, of a CPU if y is in its lane.
	stepAt(x, y) {
		const v = this.from + (x - gutter) / (this.wide - gutter - 8) * (this.to - this.from);
		let lo = 0, hi = this.run.n - 1;
		while (lo < hi) {
			const mid = (lo + hi + 1) >> 1;
			if (this.pos(mid) <= v) lo = mid; else hi = mid - 1;
		}
		const nearer = lo + 1 < this.run.n && this.pos(lo + 1) - v < v - this.pos(lo) ? lo + 1 : lo;
		const cpu = this.lane.findIndex(l => y >= l.top && y < l.end);
		if (cpu < 0 || this.run.cpu[nearer] === cpu) return nearer;
		for (let d = 1; d < 200; d++) {
			for (const s of [nearer - d, nearer + d]) {
				if (this.run.cpu[s] === cpu && Math.abs(this.x(s) - x) < 24) return s;
			}
		}
		return nearer;
	}

	colours() {
		const style = getComputedStyle(document.documentElement);
		this.colour = name => style.getPropertyValue("--" + name).trim();
	}

	draw() {
		this.queued = false;
		const began = performance.now();
		this.wide = this.lanes.clientWidth;
		const scale = window.devicePixelRatio || 1, c = this.canvas.getContext("2d");
		if (this.canvas.width !== Math.round(this.wide * scale) || this.canvas.height !== Math.round(this.high * scale)) {
			this.canvas.width = Math.round(this.wide * scale);
			this.canvas.height = Math.round(this.high * scale);
			this.canvas.style.height = this.high + "px";
		}
		c.setTransform(scale, 0, 0, scale, 0, 0);
		c.clearRect(0, 0, this.wide, this.high);
		c.font = "11px system-ui, sans-serif";
		c.textBaseline = "middle";
		c.save();
		c.beginPath();
		c.rect(gutter - 4, 0, this.wide - gutter + 4, this.high);
		c.clip();
		this.drawSpans(c);
		this.drawArrows(c);
		this.drawSteps(c);
		this.drawBands(c);
		this.drawMarks(c);
		c.restore();
		c.fillStyle = this.colour("fg");
		this.lane.forEach((l, i) => c.fillText("cpu" + i, 4, l.task + taskHigh / 2));
		this.places.forEach((p, i) => c.fillText(this.run.text(p).slice(0, 10), 4, this.bandTop + i * (bandHigh + 2) + bandHigh / 2));
		this.host.drew(performance.now() - began);
	}

	// drawSpans draws what can be seen: of what is narrower than a pixel one a pixel.
	drawSpans(c) {
		const r = this.run, drawn = new Map(), fg = this.colour("fg"), bg = this.colour("bg");
		const fill = { task: this.colour("task"), idle: this.colour("idle"), trap: this.colour("trap"), call: this.colour("call"), sync: this.colour("wait"), grace: this.colour("wait"), stop: this.colour("stop"), lock: this.colour("lock") };
		for (const [kind, cpu, , says, from, to, depth] of r.spans) {
			if (cpu >= r.cpus) continue;
			if (this.pos(from) > this.to) break; // they are in the order of where they begin
			if (this.pos(to) < this.from) continue;
			const k = r.text(kind), l = this.lane[cpu], x0 = this.x(from), x1 = Math.max(this.x(to), x0 + 1);
			let y = l.task, h = taskHigh - 1;
			if (k === "trap") { y = l.task - (depth + 1) * trapHigh; h = trapHigh - 1; }
			else if (k in order) { y = l.wait + (order[k] + (k === "lock" ? depth : 0)) * waitHigh; h = waitHigh - 1; }
			if (x1 - x0 < 2) {
				const key = y * 65536 + Math.floor(x0);
				if (drawn.has(key)) continue;
				drawn.set(key, true);
			}
			const name = r.text(says);
			c.fillStyle = k === "task" && name === "idle" ? fill.idle : fill[k];
			c.fillRect(x0, y, x1 - x0, h);
			if (x1 - x0 > 3) {
				c.fillStyle = bg;
				c.fillRect(x1 - 1, y, 1, h);
			}
			const left = Math.max(x0, gutter) + 3, room = x1 - left - 3;
			if (room > 22) {
				c.fillStyle = fg;
				c.fillText(shorten(c, name, room), left, y + h / 2 + 0.5);
			}
		}
	}

	drawArrows(c) {
		const r = this.run;
		c.strokeStyle = this.colour("soft");
		c.fillStyle = this.colour("soft");
		let n = 0;
		for (const [kind, from, to] of r.arrows) {
			if (this.pos(from) > this.to) break;
			if (this.pos(to) < this.from || r.cpu[from] === r.cpu[to] || r.cpu[from] === machine || ++n > 1500) continue;
			const a = this.lane[r.cpu[from]], b = this.lane[r.cpu[to]];
			const x0 = this.x(from), x1 = this.x(to), y0 = a.task + taskHigh / 2, y1 = b.task + taskHigh / 2;
			c.setLineDash(r.text(kind) === "wake" ? [2, 3] : []);
			c.beginPath();
			c.moveTo(x0, y0);
			c.lineTo(x1, y1);
			c.stroke();
			const turn = Math.atan2(y1 - y0, x1 - x0);
			c.beginPath();
			c.moveTo(x1, y1);
			c.lineTo(x1 - 7 * Math.cos(turn - 0.4), y1 - 7 * Math.sin(turn - 0.4));
			c.lineTo(x1 - 7 * Math.cos(turn + 0.4), y1 - 7 * Math.sin(turn + 0.4));
			c.fill();
		}
		c.setLineDash([]);
	}

	// drawSteps draws a tick for each step: taller for stores, a cross for the violation.
	drawSteps(c) {
		const r = this.run, fg = this.colour("fg"), store = this.colour("link"), mark = this.colour("mark");
		const first = Math.max(0, this.stepBefore(this.from)), seen = new Set();
		for (let s = first; s < r.n && this.pos(s) <= this.to; s++) {
			const kind = r.text(r.class[s]), cpu = r.cpu[s];
			if (cpu >= r.cpus) continue;
			const x = this.x(s), l = this.lane[cpu], key = cpu * 65536 + Math.floor(x);
			if (kind === "" && seen.has(key)) continue;
			seen.add(key);
			c.fillStyle = kind === "store" ? store : fg;
			if (kind === "store") c.fillRect(x - 1, l.task + 2, 2.5, taskHigh - 5);
			else c.fillRect(x - 0.5, l.task + taskHigh - 6, 1, 5);
		}
		if (r.violation >= 0) {
			const x = this.x(r.violation), l = this.lane[r.cpu[r.violation]] || this.lane[0], y = l.task + taskHigh / 2;
			c.strokeStyle = mark;
			c.lineWidth = 3;
			c.beginPath();
			c.moveTo(x - 6, y - 6); c.lineTo(x + 6, y + 6);
			c.moveTo(x - 6, y + 6); c.lineTo(x + 6, y - 6);
			c.stroke();
			c.lineWidth = 1;
		}
	}

	stepBefore(pos) {
		let lo = 0, hi = this.run.n - 1;
		while (lo < hi) {
			const mid = (lo + hi + 1) >> 1;
			if (this.pos(mid) <= pos) lo = mid; else hi = mid - 1;
		}
		return lo;
	}

	drawBands(c) {
		const r = this.run, fg = this.colour("fg"), line = this.colour("soft");
		for (const [place, state, from, to] of r.bands) {
			const x0 = this.x(from), x1 = Math.max(this.x(to), x0 + 1);
			if (x1 < gutter || x0 > this.wide) continue;
			const y = this.bandTop + this.places.indexOf(place) * (bandHigh + 2), name = r.text(state);
			c.fillStyle = { armed: this.colour("trap"), optimizing: this.colour("lock"), optimized: this.colour("wait"), unoptimizing: this.colour("lock") }[name] || this.colour("idle");
			c.fillRect(x0, y, x1 - x0, bandHigh);
			c.strokeStyle = line;
			c.strokeRect(x0 + 0.5, y + 0.5, x1 - x0 - 1, bandHigh - 1);
			const left = Math.max(x0, gutter) + 3;
			if (x1 - left > 26) {
				c.fillStyle = fg;
				c.fillText(shorten(c, name, x1 - left - 4), left, y + bandHigh / 2 + 0.5);
			}
		}
	}

	// drawMarks draws the deviations and the place where the page is.
	drawMarks(c) {
		c.fillStyle = this.colour("mark");
		this.run.turns.forEach((t, i) => {
			if (t.step < 0) return;
			const x = this.x(t.step);
			c.beginPath();
			c.moveTo(x - 5, 3); c.lineTo(x + 5, 3); c.lineTo(x, 12);
			c.fill();
			c.textAlign = x > this.wide - 24 ? "right" : "left";
			c.fillText(String(i + 1), x + (x > this.wide - 24 ? -6 : 6), 8);
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
		this.$("[data-go=axis]").textContent = this.byTime ? "by step" : "by time";
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
		this.neighbours();
		this.mark(this.$(".deviations"), this.run.turns);
		this.mark(this.$(".story"), this.run.story);
		this.$(".number").value = step;
		this.show();
		this.host.went(this);
	}

	whose(s) { return this.run.text(this.run.task[s]) === "" ? this.who(s) : `${this.who(s)} ${this.run.text(this.run.task[s])}`; }

	who(s) { return this.run.cpu[s] === machine ? "machine" : "cpu" + this.run.cpu[s]; }

	now() {
		const r = this.run, s = this.step, p = this.$(".now");
		const words = `step ${s} of ${r.n - 1}, ${this.whose(s)}: ${r.text(r.says[s])}`;
		p.replaceChildren(element("b", { textContent: words }));
		this.lanes.setAttribute("aria-valuenow", s);
		this.lanes.setAttribute("aria-valuetext", words);
		let more = `${r.text(r.kind[s])}, event ${r.seq[s]}, at ${number.format(r.time[s])} cycles of the run`;
		if (r.cpu[s] !== machine) more += `; the CPU's clock shows ${number.format(r.clock[s])}`;
		if (r.depth[s] > 0) more += `; ${r.depth[s]} open trap${r.depth[s] > 1 ? "s" : ""}`;
		p.append(element("br"), more + ".");
		r.turns.forEach((t, i) => { if (t.step === s) p.append(element("br"), element("span", { className: "mark", textContent: `Deviation ${i + 1} comes before it: ${t.words}` })); });
		if (s === r.violation) p.append(element("br"), element("b", { textContent: "Violation: " + r.headline }));
	}

	// patches shows the bytes as they are at this step.
	patches() {
		const most = 6, there = [];
		for (const t of this.run.texts) {
			const v = last(t.versions, this.step, v => v[0]);
			if (v >= 0) there.push({ t, v, busy: this.standing(t).length > 0, step: t.versions[v][0] });
		}
		const chosen = there.toSorted((a, b) => b.busy - a.busy || b.t.site - a.t.site || b.step - a.step).slice(0, most);
		const list = there.filter(p => chosen.includes(p)).map(p => this.patch(p.t, p.v));
		if (there.length > most) list.push(element("p", { className: "soft", textContent: `${there.length - most} more, where nobody is, haven't changed since.` }));
		if (there.length === 0) list.push(element("p", { className: "soft", textContent: "No text is written to." }));
		this.$(".patches").replaceChildren(...list);
	}

	patch(t, v) {
		const r = this.run, [step, , , listing, gone] = t.versions[v], bytes = t.bytes[v];
		const box = element("div", { className: "patch" });
		box.append(element("h4", { textContent: t.name + (gone ? " (freed)" : "") }));
		if (bytes.length <= 16 && !gone) box.append(element("div", { className: "scroll", tabIndex: -1 }, this.table(t, v)));
		if (!gone && bytes.length > 16) {
			box.append(element("details", {}, element("summary", { textContent: `${bytes.length} bytes` }), element("div", { className: "listing", textContent: r.text(listing) || "being written" })));
		} else if (!gone) {
			box.append(element("div", { className: "listing", textContent: r.text(listing) }));
		}
		if (step >= 0) box.append(element("div", { className: "soft", textContent: `as of step ${step}, by ${this.whose(step)}` }));
		return box;
	}

	// table has a row for memory, and one for each CPU that may fetch other bytes.
	table(t, v) {
		const bytes = t.bytes[v], now = t.versions[v][0] === this.step;
		const table = element("table", { className: "bytes" }, element("caption", { className: "unseen", textContent: "bytes of " + t.name }));
		const row = (name, cells) => table.append(element("tr", {}, element("th", { scope: "row", textContent: name }), ...cells));
		row("memory", bytes.map((b, i) => {
			let k = v;
			while (k > 0 && t.bytes[k - 1][i] === b) k--;
			const cell = element("td"), wrote = t.versions[k][0];
			if (now && k === v && v > 0) cell.className = "new";
			if (wrote < 0) {
				cell.textContent = b;
				cell.title = "as linked";
			} else {
				const says = `byte ${i}: ${b}, written in step ${wrote} by ${this.who(wrote)}`;
				const jump = element("button", { type: "button", textContent: b, title: says, onclick: () => this.go(wrote) });
				jump.setAttribute("aria-label", says);
				cell.append(jump);
			}
			return cell;
		}));
		const sees = [];
		for (const [step, cpu, text] of t.sights) {
			if (step > this.step) break;
			sees[cpu] = this.run.text(text).split(" ");
		}
		const fresh = [];
		sees.forEach((old, cpu) => {
			if (old.every((b, i) => b === bytes[i])) {
				fresh.push("cpu" + cpu);
				return;
			}
			row(`cpu${cpu} may fetch`, old.map((b, i) => {
				const stale = b !== bytes[i];
				return element("td", { textContent: b, className: stale ? "stale" : "", title: stale ? `${b} as it was, or ${bytes[i]}` : "" });
			}));
		});
		for (const s of this.standing(t)) {
			const says = s.trapped ? `cpu${s.cpu} comes back to` : `cpu${s.cpu} is at`;
			row(says, bytes.map((_, i) => {
				const on = i === s.off || i > s.off && i < s.off + s.len;
				return element("td", { className: "stands", textContent: i === s.off ? "▲" : on ? "─" : "" });
			}));
		}
		if (fresh.length > 0 && t.site) {
			const rest = element("td", { className: "soft", colSpan: bytes.length, textContent: "these only" });
			row(fresh.length === this.run.cpus ? "every CPU" : fresh.join(", "), [rest]);
		}
		return table;
	}

	// standing returns the CPUs that are in a patch, and where.
	standing(t) {
		const at = [];
		for (const [step, cpu, patch, off, len, trapped] of this.run.stands) {
			if (step > this.step) break;
			at[cpu] = { cpu, patch, off, len, trapped };
		}
		return at.filter(s => s && s.patch >= 0 && this.run.texts[s.patch] === t);
	}

	// neighbours lists the steps around this one.
	neighbours() {
		const r = this.run, half = 11, list = [];
		const from = Math.max(0, Math.min(this.step - half, r.n - 2 * half - 1));
		for (let s = from; s < Math.min(r.n, from + 2 * half + 1); s++) {
			const b = element("button", { type: "button", tabIndex: -1, onclick: () => this.go(s) },
				element("span", { className: "no", textContent: s }), element("span", { className: "who", textContent: this.who(s) }), " " + "  ".repeat(r.depth[s]) + r.text(r.says[s]));
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
		const fill = (list, items, words) => list.replaceChildren(...items.map(t =>
			element("li", {}, element("button", { type: "button", textContent: words(t), title: t.line || "", onclick: () => this.go(t.step) }))));
		fill(this.$(".deviations"), this.run.turns, t => `step ${t.step}: ${t.words}`);
		fill(this.$(".story"), this.run.story, t => `${t.text}`);
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
		this.$(".number").addEventListener("change", e => this.go(Number(e.target.value)));
		const scrub = e => {
			const box = this.canvas.getBoundingClientRect();
			this.go(this.stepAt(e.clientX - box.left, e.clientY - box.top));
		};
		this.canvas.addEventListener("pointerdown", e => {
			this.canvas.setPointerCapture(e.pointerId);
			scrub(e);
		});
		this.canvas.addEventListener("pointermove", e => { if (e.buttons & 1) scrub(e); });
		this.canvas.addEventListener("wheel", e => {
			if (e.ctrlKey || e.metaKey) this.zoom(e.deltaY > 0 ? 1.25 : 0.8);
			else if (e.deltaX !== 0 || e.shiftKey) this.pan((e.deltaX || e.deltaY) / this.wide);
			else return;
			e.preventDefault();
		}, { passive: false });
		new ResizeObserver(() => this.redraw()).observe(this.lanes);
	}
}

// shorten cuts a text to a width.
function shorten(c, text, room) {
	if (c.measureText(text).width <= room) return text;
	const n = Math.max(1, Math.floor(text.length * room / c.measureText(text).width) - 1);
	return text.slice(0, n) + "…";
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
		window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.colours());
		window.addEventListener("hashchange", () => this.fromHash());
		document.addEventListener("keydown", e => this.key(e));
		document.getElementById("keys-button").addEventListener("click", () => this.keys());
		this.fromHash();
		for (const v of this.viewers) if (v.step < 0) v.go(v.run.violation >= 0 ? v.run.violation : this.together ? this.parted : 0);
		document.documentElement.dataset.ready = "yes";
	}

	// part finds where two runs part: up to there their steps are the same.
	part() {
		const [a, b] = this.viewers.map(v => v.run);
		let n = 0;
		while (n < a.n && n < b.n && a.cpu[n] === b.cpu[n] && a.text(a.says[n]) === b.text(b.says[n])) n++;
		this.parted = Math.min(n, a.n - 1, b.n - 1);
		const says = element("p", { className: "parted" }, n === a.n && n === b.n ? "The runs are the same, step by step. " : `The runs are the same up to step ${n}, where they part. `);
		const both = element("input", { type: "checkbox", checked: true, onchange: e => { this.together = e.target.checked; } });
		says.append(element("button", { type: "button", textContent: "go there", onclick: () => this.viewers[0].go(this.parted) }), " ", element("label", {}, both, " move both"));
		document.querySelector("header").append(says);
	}

	colours() {
		for (const v of this.viewers) {
			v.colours();
			v.redraw();
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
			const hash = "#" + this.viewers.map((v, i) => (i ? "right=" : "step=") + v.step).join("&");
			if (hash !== location.hash) history.replaceState(null, "", hash);
		}, 120);
	}

	fromHash() {
		const at = new URLSearchParams(location.hash.slice(1));
		const was = this.together;
		this.together = was && !at.has("right");
		if (at.has("step")) this.viewers[0].go(Number(at.get("step")));
		if (at.has("right") && this.viewers[1]) this.viewers[1].go(Number(at.get("right")));
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
