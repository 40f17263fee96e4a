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

	// forms returns what an address is written as, of which a query has one: victim+0x1, 0xffffffff81000001. A function's
	// length isn't known: it ends where the next one begins.
	forms(word) {
		const [, name, digits] = word.match(/^(?:(.+)\+)?0x([0-9a-f]{1,16})$/) ?? [], forms = new Set([word]);
		if (!digits) return [word];
		const off = BigInt("0x" + digits), all = this.run.symbols;
		for (const at of name ? all.filter(s => s.name === name).map(s => s.at + off) : [off]) {
			const below = all.filter(s => s.at <= at), last = below.findLast(s => s.len === 0n);
			forms.add("0x" + at.toString(16));
			for (const s of below) {
				if (at < s.at + s.len || s.len === 0n && s.at === last.at) forms.add(`${s.name}+0x${(at - s.at).toString(16)}`);
			}
		}
		return [...forms];
	}

	// hits returns the steps that have all words of a query. An address isn't the beginning of a longer one.
	hits(query) {
		if (query === this.asked) return this.hit;
		const words = query.toLowerCase().split(/\s+/).filter(w => w !== "");
		const all = words.map(w => new RegExp(this.forms(w).map(f => f.replace(/[^\w\s]/g, "\\$&") + (/0x[0-9a-f]+$/.test(f) ? "(?![0-9a-f])" : "")).join("|")));
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
