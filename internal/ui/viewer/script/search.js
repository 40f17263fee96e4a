// A Search finds events by what they say, by their functions and by addresses.
class Search extends Paper {
	// searched returns the text of each step that is searched, in lower case.
	searched() {
		const r = this.run, more = new Map(), add = (s, text) => more.set(s, `${more.get(s) ?? ""} ${text}`);
		for (const t of [...r.story, ...r.turns]) add(t.step, t.text ?? t.words);
		for (const [step, , , says, chain] of r.calls) add(step, [r.text(says), ...r.chains[chain].flatMap(k => r.frames[k].slice(0, 2))].join(" "));
		for (const [step, , , ...at] of r.stands) {
			for (let k = 0; k < at.length; k += 5) add(step, this.addresses(r.texts[at[k]], at[k + 1]));
		}
		return Array.from({ length: r.n }, (_, s) => `${this.whose(s)} ${r.text(r.says[s])} ${r.text(r.kind[s])} ${more.get(s) ?? ""}`.toLowerCase());
	}

	// addresses names a byte of a text by its symbol and as a number.
	addresses(t, off) {
		const [, symbol, from] = t.name.match(/^(.*)\+0x([0-9a-f]+)$/) ?? [null, t.name, "0"];
		return `${symbol}+0x${(parseInt(from, 16) + off).toString(16)} 0x${(BigInt(t.at) + BigInt(off)).toString(16)}`;
	}

	// hits returns the steps that have all words of a query. An address isn't the beginning of a longer one.
	hits(query) {
		if (query === this.asked) return this.hit;
		const words = query.toLowerCase().split(/\s+/).filter(w => w !== "");
		const all = words.map(w => new RegExp(w.replace(/[^\w\s]/g, "\\$&") + (/0x[0-9a-f]+$/.test(w) ? "(?![0-9a-f])" : "")));
		this.words ??= this.searched();
		this.asked = query;
		this.hit = all.length === 0 ? [] : this.words.flatMap((text, s) => all.every(w => w.test(text)) ? [s] : []);
		return this.hit;
	}

	// seekHit goes to the next hit, or the one before; after the last comes the first.
	seekHit(query, by) {
		const list = this.hits(query);
		if (list.length === 0) return;
		const s = by > 0 ? list.find(s => s > this.step) ?? list[0] : list.findLast(s => s < this.step) ?? list.at(-1);
		this.host.jump(() => this.go(s));
		this.$(".now").scrollIntoView({ block: "nearest" }); // on a telephone it is far below the field
	}

	// found says how many hits there are, and which of them is shown: 3 of 12.
	found(query) {
		if (query.trim() === "") return "";
		const list = this.hits(query), i = list.indexOf(this.step);
		if (list.length === 0) return "no event";
		return i >= 0 ? `${i + 1} of ${list.length}` : `${list.length} event${list.length === 1 ? "" : "s"}`;
	}
}
