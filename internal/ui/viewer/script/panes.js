// Panes say in words what there is at a step.
class Panes extends Folds {
	whose(s) { return this.run.text(this.run.task[s]) === "" ? this.who(s) : `${this.who(s)} ${this.run.text(this.run.task[s])}`; }

	who(s) { return this.run.cpu[s] === machine ? "machine" : "cpu" + this.run.cpu[s]; }

	// event names a step as the columns of replay do.
	event(s) { return `event ${this.run.seq[s]}`; }

	// stepOf returns the step that an event is; of one that isn't on the page, the next.
	stepOf(event) { return Math.min(this.run.n - 1, below(this.run.n, event, s => this.run.seq[s])); }

	// noEvent says that a run has no event of a number, which the reader has written; "": it has.
	noEvent(written) {
		const { seq, n } = this.run, first = seq[0] ?? 0, last = seq[n - 1] ?? 0;
		if (/^\d+$/.test(written) && written >= first && written <= last) return "";
		return `there is no event ${written.slice(0, 40)}; events are ${first} to ${last}`;
	}

	// keepRoom lets what is above the events become higher, and not lower again: what is
	// below it stays where it is while one goes on. Layout is known then.
	keepRoom() {
		const list = [".now", ".patches", ".cpus"].map(this.$), highs = list.map(e => e.offsetHeight);
		list.forEach((e, i) => { if (highs[i] > (e.least ?? 0)) e.style.minHeight = `${e.least = highs[i]}px`; });
		for (const e of this.section.querySelectorAll(".scroll")) e.tabIndex = e.scrollWidth > e.clientWidth + 1 ? 0 : -1; // keys reach what scrolls
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
		if (this.told >= 0) p.append(element("div", { className: "tells", textContent: `Sentence ${this.told + 1} of ${r.story.length}: ${r.story[this.told].text}` }));
		const fold = this.foldIn(s);
		if (fold) p.append(element("div", { className: "soft", textContent: `In a fold of ${this.events(fold).slice(2)}; u opens it.` }));
		if (r.only) p.append(element("div", { className: r.only[s] ? "only" : "soft", textContent: r.only[s] ? "Only in this run." : "In both runs." }));
		r.turns.forEach((t, i) => { if (t.step === s) p.append(element("div", { className: "mark", textContent: `Deviation ${i + 1} comes before it: ${t.words}` })); });
		if (s === r.violation) p.append(element("div", { className: "mark", textContent: "This is the violation: " + r.headline.match(/^\S+ [^\s:]+|/)[0] }));
	}

	// cpus says in words what is drawn of each CPU at this step.
	cpus() {
		const r = this.run, end = r.n - 1, rows = [];
		for (let cpu = 0; cpu < r.cpus; cpu++) {
			const there = this.spans.filter(row => row.cpu === cpu).map(row => row.at(this.step, end)).filter(o => o);
			const task = there.find(o => o.kind === "task" || o.kind === "idle"), of = kind => there.filter(o => o.kind === kind);
			const list = [...of("inside").map(o => `${o.task === task?.task ? "" : o.task + " "}${o.says}`), ...of("trap").reverse().map(o => `in ${o.says}`), ...of("stop").map(o => `stopped by ${o.says}`)];
			for (const [kinds, verb] of [[["call"], "in"], [["sync", "grace"], "waits:"], [["lock"], "holds"], [["held"], "holds:"]]) {
				const by = new Map();
				for (const o of kinds.flatMap(of)) by.set(o.task, [...by.get(o.task) ?? [], o.says.replace(/^holds: /, "")]);
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
		if (whole) box.append(element("div", { className: "scroll", tabIndex: -1, role: "group", ariaLabel: "bytes of " + t.name }, ...this.table(t, v)));
		if (!gone && !whole) {
			box.append(element("details", {}, element("summary", { textContent: `${bytes.length} bytes` }), element("div", { className: "listing", textContent: r.text(listing) || "being written" })));
		} else if (!gone) {
			const others = this.standing(t).filter(s => s.insn !== "");
			box.append(element("div", { className: "listing", textContent: (others.length > 0 ? "memory: " : "") + r.text(listing) }));
			for (const s of others) box.append(element("div", { className: "listing", textContent: `${s.says}: ${s.insn}` }));
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
				const jump = element("button", { type: "button", textContent: b, title: says, onclick: () => this.host.jump(() => this.go(wrote)) });
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
			for (let k = 0; k < at.length; k += 5) {
				const [patch, off, ran, insn, trap] = at.slice(k, k + 5).map((v, i) => i < 2 ? v : r.text(v));
				if (r.texts[patch] !== t) continue;
				const does = ran !== "" ? "runs" : trap === "" ? "is at" : trap === "#BP" ? "in #BP, saved ip" : "comes back to";
				there.push({ says: `${who} ${does}`, off, insn, ran: ran === "" ? [] : ran.split(" ") });
			}
		});
		return there;
	}

	// neighbours lists the steps around this one: of a fold that this one isn't in, how many.
	neighbours() {
		const half = document.getElementById("run1") ? 5 : 8, rows = [this.step];
		const fold = s => { const f = this.foldIn(s); return f && f !== this.foldIn(this.step) ? f : undefined; };
		for (let s = this.step - 1; s >= 0 && rows.length <= half; s--) {
			rows.unshift(fold(s) ?? s);
			s = fold(s)?.from ?? s;
		}
		for (let s = this.step + 1; s < this.run.n && rows.length < 2 * half + 1; s++) {
			rows.push(fold(s) ?? s);
			s = fold(s)?.to ?? s;
		}
		this.$(".steps").replaceChildren(...rows.map(row => typeof row === "number" ? this.neighbour(row) : this.foldRow(row)));
	}

	neighbour(s) {
		const r = this.run, only = r.only?.[s], told = this.sentencesOf(s);
		const link = element("a", { className: "no", tabIndex: -1, href: this.host.hashOf(this, s), textContent: r.seq[s], title: `link to ${this.event(s)}`, ariaLabel: this.event(s) });
		const b = element("button", { type: "button", tabIndex: -1, onclick: () => this.host.jump(() => this.go(s)) },
			element("span", { className: "who", textContent: this.who(s) }), " ",
			element("span", { className: "what", style: r.depth[s] > 0 ? `padding-left: ${Math.min(r.depth[s], 6)}em` : "" }, ...folded(r.text(r.says[s]))));
		if (told !== "") b.append(" ", element("span", { className: "n", textContent: told, title: `sentence ${told} of the story` }));
		if (only) b.append(element("span", { className: "unseen", textContent: ", only in this run" }));
		const item = element("li", { className: r.text(r.class[s]) }, link, b);
		if (r.only) item.classList.add(only ? "differs" : "common");
		if (s === this.step) {
			item.classList.add("at");
			b.setAttribute("aria-current", "step");
		}
		return item;
	}

	foldRow(f) {
		return element("li", { className: "fold" }, element("button", { type: "button", tabIndex: -1, title: "show them", onclick: () => this.unfold(f), textContent: this.events(f) }));
	}

	// code shows the C that a kernel's engine has come to: the last call of the task whose
	// event this is, or of any.
	code() {
		const r = this.run, pane = this.$(".code");
		if (!pane) return;
		const at = last(r.calls, this.step, c => c[0]), most = 2000; // calls that are looked through
		const find = is => { for (let i = at; i >= 0 && i > at - most; i--) if (is(r.calls[i])) return r.calls[i]; };
		const mine = c => c[2] === r.task[this.step], shown = c => r.chains[c[4]].some(k => r.frames[k][4].length > 0);
		const call = find(c => mine(c) && shown(c)) ?? find(shown) ?? find(mine) ?? r.calls[at];
		if (!call) {
			pane.replaceChildren(element("p", { className: "soft", textContent: "The kernel's engine hasn't called anything yet." }));
			return;
		}
		const [step, cpu, task, says, chain] = call, frames = r.chains[chain].map(k => r.frames[k]), own = mine(call);
		const best = Math.max(0, frames.findIndex(f => f[4].length > 0));
		const list = [element("p", {}, own ? "" : "Last: ", `cpu${cpu} ${r.text(task)} calls `, element("code", { textContent: r.text(says) }), element("span", { className: "no-event", textContent: `, before ${this.event(step)}` }))];
		frames.forEach(([name, file, line, from, text], k) => {
			const where = file === "" ? name : `${name}, ${file}:${line}`;
			list.push(element("p", { className: "frame" }, k > 0 ? "called by " : "in ", element("code", {}, ...folded(where))));
			if (k !== best || text.length === 0) return;
			list.push(element("div", { className: "scroll", tabIndex: -1, role: "group", ariaLabel: `${file} around line ${line}` }, element("table", { className: "lines" }, element("caption", { className: "unseen", textContent: `${file} around line ${line}` }),
				...text.map((t, j) => element("tr", { className: from + j === line ? "at" : "", ariaCurrent: from + j === line ? "true" : null },
					element("th", { scope: "row", textContent: from + j }), element("td", { textContent: t }))))));
		});
		pane.replaceChildren(...list);
	}
}
