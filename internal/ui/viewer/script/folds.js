// Folds draw what can be done without as little as it is: stretches in which nothing of note
// happens, and, of two runs, what both have.
const foldWide = 4; // as so many steps

class Folds extends Lanes {
	// placing finds where each step is drawn if they go from left to right by their numbers.
	placing() {
		const r = this.run, place = new Float64Array(r.n);
		let at = 0, s = 0;
		const upTo = end => { while (s < end) place[s++] = at++; };
		for (const f of r.folds) {
			if (!f.shut) continue;
			upTo(f.from);
			const each = foldWide / (f.to - f.from + 2);
			for (let k = 1; s <= f.to; k++) place[s++] = at - 1 + k * each;
			at += foldWide - 1;
		}
		upTo(r.n);
		for (let i = 0, least = place[0]; i < r.n; i++) place[i] -= least;
		this.place = place;
	}

	// foldIn returns the fold that a step is in, and that is shut.
	foldIn(s) {
		const f = this.run.folds[last(this.run.folds, s, f => f.from)];
		return f?.shut && s <= f.to ? f : undefined;
	}

	// foldOf is foldIn where folds are drawn: by time there are none.
	foldOf(s) { return this.byTime ? undefined : this.foldIn(s); }

	// hides reports whether what lies between two steps is in one fold.
	hides(from, to) {
		const f = this.foldOf(from);
		return f !== undefined && to <= f.to;
	}

	// edges are where a fold is drawn from and to.
	edges(f) {
		const half = 3; // pixels
		return [f.from === 0 ? this.gutter - 4 : this.x(f.from - 1) + half, f.to === this.run.n - 1 ? this.wide : this.x(f.to + 1) - half];
	}

	foldAt(x) {
		if (this.byTime) return undefined;
		const f = this.foldIn(this.stepBefore(this.posAt(x))) ?? this.foldIn(Math.min(this.run.n - 1, this.stepBefore(this.posAt(x)) + 1));
		if (!f) return undefined;
		const [from, to] = this.edges(f);
		return x >= from && x < to ? f : undefined;
	}

	// events says how many there are in a fold.
	events(f) { return `… ${number.format(f.to - f.from + 1)} events, ${this.run.seq[f.from]} to ${this.run.seq[f.to]}`; }

	drawFolds(c) {
		if (this.byTime) return;
		const bottom = this.high - scaleHigh, bg = this.colour("bg"), soft = this.colour("soft"), cursor = this.colour("cursor");
		for (const f of this.run.folds) {
			if (!f.shut || this.pos(f.to) < this.from || this.pos(f.from) > this.to) continue;
			const [from, to] = this.edges(f), count = number.format(f.to - f.from + 1);
			if (to - from < 2) continue;
			c.globalAlpha = 0.72;
			c.fillStyle = bg;
			c.fillRect(from, axisHigh, to - from, bottom - axisHigh);
			c.globalAlpha = 1;
			c.strokeStyle = this.foldIn(this.step) === f ? cursor : soft;
			c.beginPath();
			for (const x of [f.from > 0 ? from : NaN, f.to < this.run.n - 1 ? to : NaN]) { // as torn paper
				if (Number.isNaN(x)) continue;
				c.moveTo(x, axisHigh);
				for (let y = axisHigh, k = 0; y < bottom; y += 4, k++) c.lineTo(x + (k % 2 ? 1.5 : -1.5), Math.min(bottom, y + 4));
			}
			c.stroke();
			const turn = Math.max(...this.run.turns.filter(t => t.step >= 0 && t.step < f.from).map(t => this.x(t.step) + 24), this.gutter - 4); // a deviation's number ends there
			const room = [Math.max(from, turn), Math.min(to, this.wide)], name = [`… ${count} events`, `… ${count}`, `…${count}`, "…"].find(n => wideOf(c, n) <= room[1] - room[0] + 2);
			if (name === undefined) continue;
			c.fillStyle = soft;
			c.textAlign = "center";
			c.fillText(name, (room[0] + room[1]) / 2, axisHigh - 7);
			c.textAlign = "left";
		}
	}

	// drawDiffering fades what both runs have, and underlines what only this one has.
	drawDiffering(c) {
		const r = this.run;
		if (!r.differs) return;
		const half = 0.5 / (this.to - this.from) * (this.wide - this.gutter - 8), bottom = this.high - scaleHigh;
		const bg = this.colour("bg"), differ = this.colour("differ");
		let at = -Infinity;
		const fade = to => {
			if (to - at < 1 || to < 0 || at > this.wide) return;
			c.globalAlpha = 0.55;
			c.fillStyle = bg;
			c.fillRect(Math.max(at, 0), axisHigh, Math.min(to, this.wide) - Math.max(at, 0), bottom - axisHigh);
			c.globalAlpha = 1;
		};
		for (const [from, to] of r.differs) {
			const x0 = this.x(from) - half, x1 = this.x(to) + half;
			fade(x0);
			at = x1;
			if (x1 < 0 || x0 > this.wide) continue;
			c.fillStyle = differ;
			c.fillRect(x0, axisHigh - 3, Math.max(1.5, x1 - x0), 3);
		}
		fade(Infinity);
		c.fillStyle = differ;
		for (let cpu = 0; cpu < r.cpus; cpu++) {
			const end = this.lane[cpu].task + taskHigh - 1, ticks = r.ticks[cpu], stores = r.stores[cpu];
			for (const list of [ticks, stores]) {
				for (const s of this.seen(list, list, i => list[i])) if (r.only[s] && !this.foldOf(s)) c.fillRect(this.x(s) - 1, end - (list === stores ? 12 : 8), 2.5, list === stores ? 12 : 8);
			}
		}
	}

	// unfold opens a fold: that which is given, the one that this step is in, or the next.
	unfold(f) {
		const shut = this.run.folds.filter(f => f.shut);
		f ??= this.foldIn(this.step) ?? shut.find(f => f.from > this.step) ?? shut.at(-1);
		if (!f) return;
		f.shut = false;
		this.refold();
	}

	// foldAll shuts all folds, or opens them if none is open.
	foldAll() {
		const shut = this.run.folds.some(f => !f.shut);
		for (const f of this.run.folds) f.shut = shut;
		this.refold();
	}

	// refold draws what was drawn, with what is open now.
	refold() {
		const all = this.from <= 0 && this.to >= this.ends() - 1e-6, left = this.byTime ? 0 : this.stepBefore(this.from), wide = this.to - this.from;
		this.placing();
		if (!this.byTime) {
			this.from = all ? 0 : Math.max(0, Math.min(this.ends() - wide, this.pos(left)));
			this.to = all ? this.ends() : this.from + Math.min(wide, this.ends());
		}
		this.foldButton();
		this.now();
		this.neighbours();
		this.show();
	}

	foldButton() {
		const b = this.$("[data-go=fold]"), n = this.run.folds.filter(f => f.shut).length;
		b.textContent = n > 0 ? `unfold ${n}` : "fold";
		b.hidden = this.run.folds.length === 0;
		b.setAttribute("aria-label", n > 0 ? `Unfold ${n} stretches of events in which nothing of note happens` : "Fold the events in which nothing of note happens");
	}
}
