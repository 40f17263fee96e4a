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
		window.addEventListener("hashchange", e => this.fromHash(new URL(e.newURL).hash)); // went may have changed it again
		document.addEventListener("keydown", e => this.key(e));
		document.getElementById("keys-button").addEventListener("click", () => this.keys());
		this.fromHash();
		for (const v of this.viewers) if (v.step < 0) v.go(v.run.violation >= 0 ? v.run.violation : this.together ? this.parted : 0);
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
			v.draw();
		}
	}

	activate(v) {
		this.active = v;
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
		clearTimeout(this.timer); // browsers allow few changes of the address a second
		this.timer = setTimeout(() => {
			const hash = this.hash();
			if (hash !== location.hash) history.replaceState(null, "", hash);
		}, 120);
	}

	// hash is the address of the events that are shown: #e91, of two runs #e91,e97.
	hash() { return "#" + this.viewers.map(v => "e" + v.run.seq[v.step]).join(","); }

	// hashOf is the address of an event of a run, which the other run goes along with: #e91, of the second #,e91.
	hashOf(v, step) { return `#${v.section.id === "run1" ? "," : ""}e${v.run.seq[step]}`; }

	// link copies the address of what is shown.
	async link(v) {
		const url = location.href.replace(/#.*|$/, this.hash()), says = v.$(".copied");
		const copied = await navigator.clipboard?.writeText(url).then(() => true, () => false) || this.copyByHand(url);
		says.textContent = copied ? `copied: ${this.hash()}` : "not copied; the address has it";
		clearTimeout(this.said);
		this.said = setTimeout(() => { says.textContent = ""; }, 4000);
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
	// of before had #event=91 and #event=91&right=97.
	fromHash(hash = location.hash) {
		const [, left, right] = hash.replace("%2C", ",").match(/^#(?:e(\d+))?(?:,e(\d+))?$/) ?? [];
		const at = new URLSearchParams(left || right ? { ...left && { event: left }, ...right && { right } } : hash.slice(1));
		const steps = at.has("step"), was = this.together;
		this.together = was && !(at.has("right") && (steps || at.has("event")));
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
		case "n": v.along(1); break;
		case "p": v.along(-1); break;
		case "x": v.differing(1); break;
		case "X": v.differing(-1); break;
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
		default: return;
		}
		e.preventDefault();
	}
}

performance.mark("begun");
window.kpsim = new Host(JSON.parse(document.getElementById("data").textContent));
