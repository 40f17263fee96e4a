// Lanes draw a run.
class Lanes {
	// rows finds where what is drawn: each CPU has a lane of tasks, traps above them and
	// waits below, and the probes' states come last.
	rows() {
		const r = this.run, deep = [], waits = [], inside = [], told = [];
		for (let c = 0; c < r.cpus; c++) { deep[c] = 0; waits[c] = []; inside[c] = []; }
		for (const t of r.story) told[this.laneOf(t.step)] = markHigh;
		const spans = r.spans.filter(([, cpu]) => cpu < r.cpus), depths = spans.map(([kind, cpu, , , from, to, depth]) => {
			const k = r.text(kind);
			if (k === "trap") deep[cpu] = Math.max(deep[cpu], depth + 1);
			if (k === "inside") {
				const free = inside[cpu].findIndex(end => end <= from), row = free < 0 ? inside[cpu].length : free;
				inside[cpu][row] = to;
				return row;
			}
			if (!lasts.has(k)) return depth;
			const free = waits[cpu].findIndex(end => end <= from), row = free < 0 ? waits[cpu].length : free;
			waits[cpu][row] = to;
			return row;
		});
		let y = axisHigh;
		this.lane = [];
		for (let c = 0; c < r.cpus; c++) {
			const top = y + (told[c] ?? 0) + deep[c] * trapHigh, below = top + taskHigh + inside[c].length * insideHigh;
			this.lane.push({ top: y, mark: y, task: top, inside: top + taskHigh, wait: below, end: below + waits[c].length * waitHigh });
			y = this.lane[c].end + gap;
		}
		const rows = new Map();
		const row = (cpu, y, high) => rows.get(y) ?? rows.set(y, Object.assign(new Row(y, high), { cpu })).get(y);
		spans.forEach(([kind, cpu, task, says, from, to], i) => {
			const k = r.text(kind), l = this.lane[cpu], name = r.text(says), whose = r.text(task);
			if (k === "trap") row(cpu, l.task - (depths[i] + 1) * trapHigh, trapHigh - 1).add(from, to, k, name, whose);
			else if (k === "inside") row(cpu, l.inside + depths[i] * insideHigh, insideHigh - 1).add(from, to, k, name, whose);
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
		this.section.classList.toggle("few", r.cpus <= 4); // all of them are in sight
		this.section.style.setProperty("--drawn", this.high + 2 + "px");
		this.axes = [...this.lanes.querySelectorAll(".axis")].map(canvas => ({ canvas, high: 0, top: 0 }));
		this.fitAxes();
		this.arrowEnds = [];
		for (const [, , to] of r.arrows) this.arrowEnds.push(Math.max(to, this.arrowEnds.at(-1) ?? -1));
	}

	// fitAxes makes the strips as high as what they keep in sight: the deviations above, and below the
	// scale and the states of the probes, the last of them if all would take more than half of the room.
	fitAxes() {
		const each = bandHigh + 2, fit = Math.max(1, Math.floor((this.lanes.clientHeight / 2 - scaleHigh) / each));
		const states = Math.min(this.bands.length, fit) * each, below = scaleHigh + (states > 0 ? states + 2 : 0);
		[axisHigh, below].forEach((high, i) => {
			const a = this.axes[i];
			if (a.high === high) return;
			Object.assign(a, { high, top: i ? this.high - high : 0 });
			a.canvas.style.height = high + "px";
			a.canvas.style[i ? "marginTop" : "marginBottom"] = -high + "px"; // it lies over what it copies
		});
	}

	// inside is what can be seen of the drawing between the strips.
	inside() {
		const { scrollTop, clientHeight } = this.lanes;
		return [scrollTop + axisHigh, scrollTop + clientHeight - this.axes[1].high];
	}

	// hints says at the edges of the drawing that there is more beyond: above and below which CPUs, on the
	// left and on the right events.
	hints() {
		const [top, bottom] = this.inside(), all = this.lanes.scrollHeight - this.lanes.clientHeight, hidden = [[], []];
		this.lane.forEach((l, c) => { if (l.task + 4 < top) hidden[0].push(c); else if (l.task + taskHigh - 4 > bottom) hidden[1].push(c); });
		const more = { up: this.lanes.scrollTop > 1, down: this.lanes.scrollTop < all - 1, left: this.from > 1e-6, right: this.to < this.ends() - 1e-6 };
		const says = { up: `▲ ${cpuSet(hidden[0])}`, down: `▼ ${cpuSet(hidden[1])}`, left: "◀", right: "▶" };
		const box = this.$(".more");
		box.style.setProperty("--inside", bottom - top + "px");
		box.style.setProperty("--strip", this.axes[1].high + "px");
		box.style.setProperty("--gutter", this.gutter - 4 + "px");
		for (const [edge, is] of Object.entries(more)) {
			const e = box.querySelector("." + edge);
			if (e.hidden === is) e.hidden = !is;
			if (e.textContent !== says[edge]) e.firstChild.textContent = says[edge];
		}
		const { seq, n } = this.run, part = more.left || more.right;
		const drawn = part ? `, ${seq[this.stepBefore(this.from)]} to ${seq[this.stepBefore(this.to)]} drawn` : "";
		const range = `of ${seq[0] ?? 0} to ${seq[n - 1] ?? 0}${drawn}`;
		if (this.$(".range").textContent !== range) this.$(".range").textContent = range;
	}

	// laneOf is the CPU in whose lane a step is drawn.
	laneOf(step) { return this.run.cpu[step] < this.run.cpus ? this.run.cpu[step] : 0; }

	pos(step) { return this.byTime ? this.run.time[step] - this.run.time[0] : this.place[step]; }
	ends() { return Math.max(1, this.pos(this.run.n - 1)); }
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
		this.wide = this.paper ? paperWide : this.lanes.clientWidth;
		this.fitAxes();
		const scale = this.paper ? 3 : window.devicePixelRatio || 1, c = this.canvas.getContext("2d");
		if (this.canvas.width !== Math.round(this.wide * scale) || this.canvas.height !== Math.round(this.high * scale)) {
			this.canvas.width = Math.round(this.wide * scale);
			this.canvas.height = Math.round(this.high * scale);
		}
		c.setTransform(scale, 0, 0, scale, 0, 0);
		c.clearRect(0, 0, this.wide, this.high);
		c.font = font;
		c.textBaseline = "middle";
		this.gutter = Math.min(nameMost, this.wide / 4, 12 + Math.max(...["event 0 ◀", ...this.lane.length > 4 ? ["▼ cpu0-7"] : [], ...this.names.map(n => n.name)].map(n => wideOf(c, n))));
		c.save();
		c.beginPath();
		c.rect(this.gutter - 4, 0, this.wide - this.gutter + 4, this.high);
		c.clip();
		const labels = this.drawSpans(c);
		const heads = this.drawArrows(c);
		this.drawSteps(c);
		this.drawDiffering(c);
		this.drawFolds(c);
		for (const [says, x, y, ground, colour] of labels) {
			c.fillStyle = ground; // so that no arrow goes through it
			c.fillRect(x - 1, y - 5, wideOf(c, says) + 2, 10);
			c.fillStyle = colour;
			c.fillText(says, x, y);
		}
		this.drawHeads(c, heads);
		this.drawScale(c);
		this.drawMarks(c);
		c.restore();
		c.fillStyle = this.colour("soft");
		c.fillText(this.byTime ? "time" : "event", 4, this.high - scaleHigh / 2 + 1.5);
		c.fillStyle = this.colour("fg");
		for (const { name, y } of this.names) c.fillText(shorten(c, name, this.gutter - 10, name.lastIndexOf("+")), 4, y);
		this.drawAxes(scale);
		this.hints();
		this.host.drew(performance.now() - began);
	}

	// drawAxes copies the deviations above the lanes, and the probes' states and the scale below them, to the
	// strips that stay in sight.
	drawAxes(scale) {
		for (const { canvas, high, top } of this.axes) {
			const from = Math.round(top * scale);
			canvas.width = this.canvas.width;
			canvas.height = Math.round(high * scale);
			canvas.getContext("2d").drawImage(this.canvas, 0, -from);
		}
	}

	// placeOf returns where in the drawing the mouse is. What lies below a strip isn't meant.
	placeOf(e) {
		const box = this.canvas.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top;
		const within = e.clientY - this.lanes.getBoundingClientRect().top - this.lanes.clientTop;
		if (within < axisHigh) return [x, within];
		const strip = this.axes[1], below = within - (this.lanes.clientHeight - strip.high);
		return [x, below >= 0 ? strip.top + below : y];
	}

	// hatching is a tile of the lines by which a kind of spans differs from others without its colour.
	hatching(kind) {
		const tile = Object.assign(document.createElement("canvas"), { width: 8, height: 8 }), c = tile.getContext("2d");
		c.strokeStyle = this.colour(kind + "-edge");
		c.globalAlpha = 0.55;
		c.stroke(new Path2D(hatchings[kind]));
		return tile;
	}

	// drawSpans draws what can be seen: of what is narrower than a pixel one a pixel. It
	// returns their names, where there is room.
	drawSpans(c) {
		const kinds = ["task", "idle", "trap", "call", "wait", "stop", "lock", "held", "inside"], labels = [];
		const fg = this.colour("fg"), on = this.colour("inside-fg");
		const ground = Object.fromEntries(kinds.map(k => [k, this.colour(k)])), edge = Object.fromEntries(kinds.map(k => [k, this.colour(k + "-edge")]));
		const hatching = Object.fromEntries(Object.keys(hatchings).map(k => [k, c.createPattern(this.hatching(k), "repeat")]));
		for (const of of [ground, edge, hatching]) of.sync = of.grace = of.wait;
		for (const row of [...this.spans, ...this.bands]) {
			const list = [...this.seen(row.items, row.ends, i => row.items[i].from)].filter(o => !this.hides(o.from, o.to));
			let free = this.gutter; // up to where the row is taken
			list.forEach(({ from, to, kind, says }, i) => {
				const x0 = Math.round(this.x(from)), x1 = Math.max(Math.round(this.x(to)), x0 + 1), left = Math.max(x0, this.gutter);
				c.fillStyle = x1 - x0 > 3 ? ground[kind] : edge[kind];
				c.fillRect(x0, row.y, x1 - x0, row.high);
				if (x1 - x0 > 3) {
					if (hatching[kind]) {
						c.fillStyle = hatching[kind];
						c.fillRect(x0, row.y, x1 - x0, row.high);
					}
					c.strokeStyle = edge[kind];
					c.strokeRect(x0 + 0.5, row.y + 0.5, x1 - x0 - 2, row.high - 1);
				}
				const room = Math.min(x1, this.wide) - left - 6, wide = wideOf(c, says) + 8, y = row.y + Math.min(row.high, bandHigh) / 2 + 0.5;
				const next = list[i + 1] ? Math.round(this.x(list[i + 1].from)) : this.wide, before = free;
				free = x1;
				if (kind === "inside" && room < wide - 8) { // what decides is named in full: beside its band, if not in it
					const at = next - x1 >= wide ? x1 + 4 : x0 - before >= wide ? x0 - wide + 4 : undefined;
					if (at !== undefined) {
						labels.push([says, at, y, this.colour("bg"), fg]);
						free = Math.max(x1, at + wide - 4);
						return;
					}
				}
				const name = room < labelLeast ? "" : label(c, says, room);
				if (name !== "") labels.push([name, left + 3, y, ground[kind], kind === "inside" ? on : fg]);
			});
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
			if (this.hides(from, to)) continue;
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
	dense() { return (this.to - this.from) / this.wide > this.ends() / this.run.n * 0.3; }

	// drawSteps draws a tick for each step: taller for stores.
	drawSteps(c) {
		const r = this.run, store = this.colour("link"), dense = this.dense();
		for (let cpu = 0; cpu < r.cpus; cpu++) {
			const end = this.lane[cpu].task + taskHigh - 1, ticks = r.ticks[cpu], stores = r.stores[cpu];
			c.fillStyle = this.colour(dense ? "soft" : "fg");
			for (const s of this.seen(ticks, ticks, i => ticks[i])) if (!this.foldOf(s)) c.fillRect(this.x(s) - 0.5, end - (dense ? 3 : 5), 1, dense ? 3 : 5);
			c.fillStyle = store;
			for (const s of this.seen(stores, stores, i => stores[i])) if (!this.foldOf(s)) c.fillRect(this.x(s) - 1, end - 11, dense ? 1.5 : 2.5, 11);
		}
	}

	// drawScale says below everything which events these are, or which cycles of the run.
	drawScale(c) {
		const r = this.run, of = this.byTime ? v => v + r.time[0] : v => r.seq[this.stepBefore(v)];
		const least = of(this.from), most = of(this.to), room = (this.wide - this.gutter) / (this.byTime ? 90 : 55);
		const units = this.byTime ? most - least : this.to - this.from;
		let by = [1, 2, 5].map(k => k * 10 ** Math.ceil(Math.log10(Math.max(1, units / room / k)))).sort((a, b) => a - b)[0];
		while ((most - least) / by > 5000) by *= 10; // most of them are folded
		c.fillStyle = this.colour("soft");
		c.textAlign = "center";
		let free = this.gutter - 4;
		const end = this.to < this.ends() - 1e-6 ? this.wide - 14 : this.wide; // there it is said that there is more
		for (let v = Math.ceil(least / by) * by; v <= most; v += by) {
			const x = this.byTime ? this.gutter + (v - r.time[0] - this.from) / (this.to - this.from) * (this.wide - this.gutter - 8) : this.x(this.stepOf(v));
			const name = this.byTime ? `${number.format(v)} cycles` : String(v), wide = wideOf(c, name);
			if (x - wide / 2 < free || x + wide / 2 > end || !this.byTime && (r.seq[this.stepOf(v)] !== v || this.foldOf(this.stepOf(v)))) continue;
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
		this.drawTold(c);
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
		const lane = this.lane[this.run.cpu[this.step]], [top, bottom] = this.inside();
		if (lane && lane.top < top) this.lanes.scrollTop = lane.top - gap - axisHigh;
		else if (lane && lane.wait > bottom) this.lanes.scrollTop += Math.min(lane.end + gap - bottom, lane.top - top);
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

	// hint says what is drawn at a place, when the mouse rests there.
	hint(x, y) {
		const turn = y < axisHigh ? this.run.turns.findIndex(t => t.step >= 0 && Math.abs(this.x(t.step) - x) < 7) : -1;
		const row = [...this.spans, ...this.bands].find(o => y >= o.y && y < o.y + o.high), at = this.posAt(x);
		const i = row ? below(row.items.length, at, k => this.pos(row.ends[k])) : 0, item = row?.items[i];
		let says = "";
		const told = this.markAt(x, y), fold = this.foldAt(x);
		if (told) says = told.list.map(i => `${i + 1}. ${this.run.story[i].text}`).join("\n");
		else if (fold && turn < 0) says = `${this.events(fold)}, in which nothing of note happens: click, or press u, to see them`;
		else if (turn >= 0) says = `Deviation ${turn + 1}, before ${this.event(this.run.turns[turn].step)}: ${this.run.turns[turn].words}`;
		else if (item && this.pos(item.from) <= at) says = `${item.says}: ${this.event(item.from)} to ${this.run.seq[item.to]}`;
		if (this.canvas.title !== says) this.canvas.title = says;
	}
}
