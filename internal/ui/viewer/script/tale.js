// A Tale is how the violation came about: sentences, each with a mark in the lanes.
const markWide = 15;

class Tale extends Panes {
	// sentencesOf returns the numbers of the sentences that tell of a step: "3–4".
	sentencesOf(s) {
		const list = this.run.story.flatMap((t, i) => t.step === s ? [i + 1] : []);
		return numbers(list);
	}

	// sentence goes to one, the first being 0.
	sentence(i) {
		this.host.jump(() => this.go(this.run.story[i].step, i));
	}

	// along goes to the next sentence, or the one before; behind the last comes the first.
	along(by) {
		const list = this.run.story, n = list.length;
		if (n === 0) return;
		let i = this.told + by;
		if (this.told < 0) i = by > 0 ? list.findIndex(t => t.step > this.step) : list.findLastIndex(t => t.step < this.step);
		this.sentence(this.told < 0 && i < 0 ? (by > 0 ? 0 : n - 1) : (i + n) % n);
	}

	// tell marks the sentence that the page is at.
	tell() {
		this.section.querySelectorAll(".story button").forEach((b, i) => {
			const at = i === this.told;
			b.parentElement.classList.toggle("at", at);
			if (at) b.setAttribute("aria-current", "true");
			else b.removeAttribute("aria-current");
		});
		const n = this.run.story.length, count = this.$(".count");
		if (count) count.textContent = this.told < 0 ? `${n} sentences` : `${this.told + 1} of ${n}`;
	}

	// drawTold draws the marks of the sentences, those that would lie over one another as one.
	drawTold(c) {
		const r = this.run;
		this.marks = [];
		for (const i of r.story.map((_, i) => i).sort((a, b) => r.story[a].step - r.story[b].step)) {
			const step = r.story[i].step, lane = this.lane[this.laneOf(step)], x = this.x(step), m = this.marks.findLast(m => m.lane === lane);
			const list = m ? [...m.list, i] : [i], wide = Math.max(markWide, wideOf(c, numbers(list.map(i => i + 1))) + 8);
			if (m && x - m.to < markWide) Object.assign(m, { list, to: x, wide });
			else this.marks.push({ lane, list: [i], from: x, to: x, wide: markWide });
		}
		for (const m of this.marks) {
			const middle = (m.from + m.to) / 2, at = m.list.includes(this.told);
			m.x = Math.min(Math.max(middle - m.wide / 2, this.gutter - 3), this.wide - m.wide - 1);
			m.y = m.lane.mark + 1;
			c.fillStyle = this.colour(at ? "cursor" : "told");
			for (const i of m.list) c.fillRect(this.x(r.story[i].step) - 0.75, m.y + markWide - 1, 1.5, m.lane.task - m.y - markWide + 6);
			c.beginPath();
			c.roundRect(m.x, m.y, m.wide, markWide, markWide / 2);
			c.fill();
			c.fillStyle = this.colour("told-fg");
			c.textAlign = "center";
			c.font = "bold " + font;
			c.fillText(numbers(m.list.map(i => i + 1)), m.x + m.wide / 2, m.y + markWide / 2 + 1);
			c.font = font;
			c.textAlign = "left";
		}
	}

	// markAt returns the mark that is drawn at a place.
	markAt(x, y) { return this.marks?.find(m => x >= m.x - 3 && x <= m.x + m.wide + 3 && y >= m.y - 2 && y <= m.y + markWide + 2); }

	// follow goes to the sentence of a mark: of several, to the next one with each click.
	follow(m) {
		this.sentence(m.list[(m.list.indexOf(this.told) + 1) % m.list.length]);
	}
}
