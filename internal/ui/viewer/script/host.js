// A Host has the viewers of a page: one, or two that move together.
class Host {
	constructor(runs) {
		this.draws = [];
		this.viewers = runs.map((r, i) => new Viewer(r, document.getElementById("run" + i), this));
		this.active = this.viewers[0];
		this.together = this.viewers.length > 1;
		if (this.together) this.part();
		this.colours();
		this.aloud();
		document.addEventListener("focusout", () => setTimeout(() => this.aloud()));
		window.addEventListener("beforeprint", () => this.print(true));
		window.addEventListener("afterprint", () => this.print(false));
		window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.colours());
		window.addEventListener("hashchange", e => { // went may have changed it again
			this.missing(this.fromHash(new URL(e.newURL).hash));
			this.active.$(".now").scrollIntoView({ block: "nearest" });
		});
		document.addEventListener("keydown", e => this.key(e));
		document.getElementById("keys-button").addEventListener("click", () => this.keys());
		this.search();
		const at = document.getElementById("runs").dataset.at;
		const wrong = this.fromHash(location.hash || (at ? "#e" + at : "")), named = this.viewers.some(v => v.step >= 0);
		for (const v of this.viewers) if (v.step < 0) v.go(v.run.violation >= 0 ? v.run.violation : this.together ? this.parted : 0);
		this.missing(wrong);
		if (named) this.active.$(".now").scrollIntoView({ block: "nearest" });
		performance.mark("ready");
		requestAnimationFrame(() => setTimeout(() => performance.mark("drawn")));
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
		says.append(element("button", { type: "button", textContent: "go there", title: `Go to event ${at}, where the runs part`, onclick: () => this.viewers[0].go(this.parted) }), " ", element("label", { title: "Both runs move when one does" }, both, " move both"));
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
			v.print(on);
			v.draw();
		}
	}

	activate(v) {
		this.active = v;
		this.found();
		this.aloud();
	}

	// aloud has screen readers tell what is shown of one run only, and not what the slider that has the focus tells
	// by itself.
	aloud() {
		for (const v of this.viewers) v.$(".now").setAttribute("aria-live", v === this.active && document.activeElement !== v.lanes ? "polite" : "off");
	}

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
		this.missing([]);
		this.found();
		clearTimeout(this.timer); // browsers allow few changes of the address a second
		this.timer = setTimeout(() => this.settle(), 120);
	}

	// settle has the address follow at once.
	settle() {
		if (!this.forget()) return;
		const hash = this.hash();
		if (hash !== location.hash) history.replaceState(null, "", hash);
	}

	// forget leaves the address as it is. It reports whether the address was about to follow.
	forget() {
		const was = this.timer;
		clearTimeout(was);
		this.timer = undefined;
		return was !== undefined;
	}

	// jump makes a move after which the browser's "back" returns to where the page was. Keys that are held down
	// leave no such places: browsers allow few.
	jump(move) {
		if (this.repeats) {
			move();
			return;
		}
		this.settle();
		move();
		if (!this.forget()) return; // it went nowhere
		const hash = this.hash();
		if (hash !== location.hash) history.pushState(null, "", hash);
	}

	// missing says which events of the address there aren't, and leaves the address as it is.
	missing(wrong) {
		if (wrong.length > 0) this.forget();
		const says = document.getElementById("missing");
		says.hidden = wrong.length === 0;
		says.textContent = wrong.join("; ");
	}

	// differing goes to where the next stretch, or the one before, begins that only one run has, by time.
	differing(by) {
		const list = this.viewers.map(v => ({ v, step: v.differing(by) })).filter(o => o.step >= 0);
		if (list.length === 0) return;
		const { v, step } = list.reduce((a, b) => by * (b.v.run.time[b.step] - a.v.run.time[a.step]) < 0 ? b : a);
		this.activate(v);
		this.jump(() => v.go(step));
	}

	// search listens to the field for it.
	search() {
		this.query = document.getElementById("query");
		this.query.addEventListener("input", () => this.found());
		this.query.addEventListener("keydown", e => {
			if (e.key === "Enter") this.active.seekHit(this.query.value, e.shiftKey ? -1 : 1);
			else if (e.key === "Escape") this.active.lanes.focus({ preventScroll: true });
			else return;
			e.preventDefault();
		});
		for (const b of document.querySelectorAll("[data-find]")) b.addEventListener("click", () => this.active.seekHit(this.query.value, Number(b.dataset.find)));
	}

	// found says how many events have what is searched.
	found() {
		const says = this.active.found(this.query.value), status = document.querySelector("#find .found");
		if (status.textContent !== says) status.textContent = says;
		for (const b of document.querySelectorAll("[data-find]")) b.disabled = says === "" || says === "no event";
	}

	// hash is the address of the events that are shown: #e91, of two runs #e91,e97.
	hash() { return "#" + this.viewers.map(v => "e" + v.run.seq[v.step]).join(","); }

	// hashOf is the address of an event of a run, which the other run goes along with: #e91, of the second #,e91.
	hashOf(v, step) { return `#${v.section.id === "run1" ? "," : ""}e${v.run.seq[step]}`; }

	// link copies the address of what is shown.
	async link(v) {
		const url = location.href.replace(/#.*|$/, this.hash());
		const copied = await navigator.clipboard?.writeText(url).then(() => true, () => false) || this.copyByHand(url);
		this.say(v, copied ? `copied: ${this.hash()}` : "not copied; the address has it");
	}

	// say shows a line beside the number of a run's event, for some seconds.
	say(v, line) {
		const says = v.$(".copied");
		says.textContent = line;
		clearTimeout(v.said);
		v.said = setTimeout(() => { says.textContent = ""; }, 6000);
	}

	// copyByHand is for browsers that let a file write to the clipboard by this alone.
	copyByHand(text) {
		const focus = document.activeElement, area = element("textarea", { value: text, className: "unseen" });
		document.body.append(area);
		area.select();
		const copied = document.execCommand("copy");
		area.remove();
		focus?.focus({ preventScroll: true });
		return copied;
	}

	// fromHash goes to where the address says: #e91, of two runs #e91,e97 or #,e97; or #step=72, counted from 0. Pages
	// of before had #event=91 and #event=91&right=97. It returns a line for each event that there isn't: then the
	// page stays where it is, and so does the address.
	fromHash(hash = location.hash) {
		this.forget();
		const [, left, right] = hash.replace("%2C", ",").match(/^#(?:e?(\d+))?(?:,e?(\d+))?$/) ?? [];
		const at = new URLSearchParams(left || right ? { ...left && { event: left }, ...right && { right } } : hash.slice(1));
		const steps = at.has("step"), was = this.together, wrong = [];
		this.together = was && !(at.has("right") && (steps || at.has("event")));
		[at.get(steps ? "step" : "event"), at.get("right")].forEach((n, i) => {
			const v = this.viewers[i];
			if (!v || n === null) return;
			const step = steps ? Number(n) : v.stepOf(Number(n)), none = steps ? (v.run.n > step && step >= 0 ? "" : `there is no step ${n}: 0 to ${v.run.n - 1}`) : v.noEvent(n);
			if (none !== "") wrong.push(none);
			else v.go(step);
		});
		this.together = was;
		if (hash.length > 1 && !steps && !at.has("event") && !at.has("right")) wrong.push(this.active.noEvent(hash.replace(/^#e?/, "")));
		return wrong;
	}

	keys() {
		const list = document.getElementById("keys");
		list.hidden = !list.hidden;
		document.getElementById("keys-button").setAttribute("aria-expanded", String(!list.hidden));
	}

	key(e) {
		if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input:not([type=checkbox])")) return;
		const v = this.active;
		this.repeats = e.repeat;
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
		case "n": v.along(1); break;
		case "p": v.along(-1); break;
		case "x": this.differing(1); break;
		case "X": this.differing(-1); break;
		case "c": this.link(v); break;
		case "u": v.unfold(); break;
		case "f": v.foldAll(); break;
		case "g": v.$(".number").focus(); v.$(".number").select(); break;
		case "v": v.command("violation"); break;
		case "+": case "=": v.zoom(0.5); break;
		case "-": v.zoom(2); break;
		case "0": v.command("all"); break;
		case "<": v.pan(-0.5); break;
		case ">": v.pan(0.5); break;
		case "t": v.axis(); break;
		case "?": this.keys(); break;
		case "Escape": if (!document.getElementById("keys").hidden) this.keys(); break;
		case "/": this.query.focus(); this.query.select(); break;
		default: this.repeats = false; return;
		}
		this.repeats = false;
		e.preventDefault();
	}
}

performance.mark("begun");
window.kpsim = new Host(JSON.parse(document.getElementById("data").textContent));
