// Paper shows all events of a run, and folds none. It shows a long run's events around the violation.
const paperMost = 400, paperWide = 720; // events; pixels of the drawing

class Paper extends Tale {
	// printed returns the first and the last step that paper has.
	printed() {
		const { n, violation } = this.run;
		if (n <= paperMost) return [0, n - 1];
		const around = violation >= 0 ? violation : this.step, from = Math.max(0, Math.min(n - paperMost, around - paperMost / 2));
		return [from, from + paperMost - 1];
	}

	// print lays the run out for paper, or takes that back.
	print(on) {
		const r = this.run, [from, to] = this.printed(), says = this.$(".printed");
		if (on === Boolean(this.paper)) return;
		if (on) {
			this.paper = { shut: r.folds.map(f => f.shut), from: this.from, to: this.to };
			for (const f of r.folds) f.shut = false;
			this.placing();
			this.from = this.pos(from);
			this.to = Math.max(this.from + 1, this.pos(to));
		} else {
			r.folds.forEach((f, i) => { f.shut = this.paper.shut[i]; });
			({ from: this.from, to: this.to } = this.paper);
			this.paper = undefined;
			this.placing();
		}
		const part = on && to - from + 1 < r.n, of = r.violation >= 0 ? "the violation" : this.event(this.step);
		says.hidden = !part;
		says.textContent = part ? `Printed are ${paperMost} of ${number.format(r.n)} events, those around ${of}: ${r.seq[from]} to ${r.seq[to]}.` : "";
		this.now();
		if (on) this.$(".steps").replaceChildren(...Array.from({ length: to - from + 1 }, (_, i) => this.neighbour(from + i)));
		else this.neighbours();
	}
}
