// A Viewer shows a run, and follows the keys and the mouse.
class Viewer extends Search {
	constructor(run, section, host) {
		super();
		this.run = restore(run);
		this.section = section;
		this.host = host;
		this.$ = s => section.querySelector(s);
		this.lanes = this.$(".lanes");
		this.canvas = this.$(".drawing");
		this.byTime = false;
		this.step = -1;
		this.told = -1;
		this.placing();
		this.rows();
		this.from = 0;
		this.to = this.ends();
		const { seq, n } = this.run, box = this.$(".number");
		section.style.setProperty("--digits", String(seq[n - 1] ?? 0).length);
		this.lanes.setAttribute("aria-valuemin", box.min = seq[0] ?? 0);
		this.lanes.setAttribute("aria-valuemax", box.max = seq[n - 1] ?? 0);
		this.lists();
		this.listen();
	}

	// go shows a step, and the sentence of the story that tells of it, or the given one of them.
	go(step, told = -1) {
		step = Math.max(0, Math.min(this.run.n - 1, Math.trunc(step)));
		if (Number.isNaN(step)) return;
		if (told < 0) told = this.run.story[this.told]?.step === step ? this.told : this.run.story.findIndex(t => t.step === step);
		if (step === this.step && told === this.told) return;
		this.step = step;
		this.told = told;
		this.section.dataset.step = step;
		this.now();
		this.patches();
		this.code();
		this.cpus();
		this.neighbours();
		this.keepRoom();
		this.run.turns.forEach((t, i) => this.$(".deviations").children[i].classList.toggle("at", t.step === step));
		this.tell();
		this.$(".number").value = this.run.seq[step];
		this.show();
		this.host.went(this);
	}

	// lists makes the deviations.
	lists() {
		this.$(".deviations").replaceChildren(...this.run.turns.map(t =>
			element("li", {}, element("button", { type: "button", title: t.line || "", onclick: () => { if (t.step >= 0) this.host.jump(() => this.go(t.step)); } },
				element("span", { className: "no-event", textContent: t.step < 0 ? "" : `before event ${this.run.seq[t.step]}: ` }), t.words))));
		if (this.run.turns.length === 0) this.$(".deviations").replaceChildren(element("li", { textContent: "none: this is the default run" }));
		this.foldButton();
	}

	// turn goes to the next deviation, or the one before.
	turn(by) {
		const steps = this.run.turns.map(t => t.step).filter(s => by > 0 ? s > this.step : s < this.step);
		if (steps.length > 0) this.host.jump(() => this.go(by > 0 ? Math.min(...steps) : Math.max(...steps)));
	}

	// next returns the next step, or the one before, that is as wanted; -1: none is.
	next(by, wanted) {
		for (let s = this.step + by; s >= 0 && s < this.run.n; s += by) if (wanted(s)) return s;
		return -1;
	}

	// seek goes there.
	seek(by, wanted) {
		const s = this.next(by, wanted);
		if (s >= 0) this.go(s);
	}

	sameCPU(by) {
		const cpu = this.run.cpu[this.step];
		this.seek(by, s => this.run.cpu[s] === cpu);
	}

	// differing returns where the next stretch, or the one before, begins that only this run has; -1: there is none.
	differing(by) {
		const only = this.run.only;
		return only ? this.next(by, s => only[s] && !only[s - 1]) : -1;
	}

	store(by) { this.host.jump(() => this.seek(by, s => this.run.text(this.run.class[s]) === "store")); }

	command(what) {
		switch (what) {
		case "first": this.go(0); break;
		case "back": this.go(this.step - 1); break;
		case "on": this.go(this.step + 1); break;
		case "last": this.go(this.run.n - 1); break;
		case "violation": if (this.run.violation >= 0) this.host.jump(() => this.go(this.run.violation)); break;
		case "closer": this.zoom(0.5); break;
		case "wider": this.zoom(2); break;
		case "all": this.from = 0; this.to = this.ends(); this.redraw(); break;
		case "axis": this.axis(); break;
		case "fold": this.foldAll(); break;
		case "link": this.host.link(this); break;
		case "next": this.along(1); break;
		case "previous": this.along(-1); break;
		}
	}

	listen() {
		this.section.addEventListener("click", e => {
			const b = e.target.closest("[data-go]");
			if (b) this.command(b.dataset.go);
			const told = e.target.closest("[data-told]");
			if (told) this.sentence(Number(told.dataset.told));
			const event = e.target.closest("[data-event]");
			if (event) this.host.jump(() => this.go(this.stepOf(Number(event.dataset.event))));
		});
		this.section.addEventListener("pointerdown", () => this.host.activate(this), true);
		this.section.addEventListener("focusin", () => this.host.activate(this));
		this.$("[data-go=violation]").disabled = this.run.violation < 0;
		const box = this.$(".number");
		box.addEventListener("change", () => {
			const none = box.value === "" ? "" : this.noEvent(box.value);
			if (none !== "") this.host.say(this, none);
			else if (box.value !== "") this.host.jump(() => this.go(this.stepOf(Number(box.value))));
			box.value = this.run.seq[this.step];
		});
		box.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === "Escape") setTimeout(() => this.lanes.focus({ preventScroll: true })); });
		const scrub = e => this.go(this.stepAt(...this.placeOf(e)));
		this.canvas.addEventListener("pointerdown", e => {
			const [x, y] = this.placeOf(e), mark = this.markAt(x, y), fold = this.foldAt(x);
			if (mark) this.follow(mark);
			else if (fold) this.unfold(fold);
			if (mark || fold) return;
			this.canvas.setPointerCapture(e.pointerId);
			this.scrubs = true;
			scrub(e);
		});
		this.canvas.addEventListener("pointermove", e => {
			if (e.buttons & 1 && this.scrubs) scrub(e);
			else this.hint(...this.placeOf(e));
		});
		for (const up of ["pointerup", "pointercancel"]) this.canvas.addEventListener(up, () => { this.scrubs = false; });
		this.canvas.addEventListener("wheel", e => {
			if (e.ctrlKey || e.metaKey) this.zoom(e.deltaY > 0 ? 1.25 : 0.8);
			else if (e.deltaX !== 0 || e.shiftKey) this.pan((e.deltaX || e.deltaY) / this.wide);
			else return;
			e.preventDefault();
		}, { passive: false });
		this.lanes.addEventListener("scroll", () => this.hints(), { passive: true });
		new ResizeObserver(() => {
			if (this.lanes.clientWidth !== this.roomIn) for (const e of this.section.querySelectorAll(".now, .patches, .cpus")) e.style.minHeight = `${e.least = 0}px`;
			this.roomIn = this.lanes.clientWidth;
			this.redraw();
		}).observe(this.lanes);
	}
}
