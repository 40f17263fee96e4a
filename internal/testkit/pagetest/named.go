package pagetest

// Unnamed is a JavaScript expression. Its value is a list of what a reader with a screen reader, or
// one who doesn't know a sign, isn't told:
//
//   - a control, an area that takes the focus or a part of the page without a name;
//   - a control whose text is a sign or a word, and that has no tooltip;
//   - a name that doesn't have the control's text in it (WCAG 2.2, 2.5.3).
const Unnamed = `(() => {
	const bad = new Set(), words = s => (s ?? "").replace(/\s+/g, " ").trim();
	const named = e => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + (e.dataset.go ? "[" + e.dataset.go + "]" : "") + (e.classList.length ? "." + [...e.classList].join(".") : "");
	const label = e => words(e.getAttribute("aria-label")) || words((e.getAttribute("aria-labelledby") ?? "").split(" ").map(id => document.getElementById(id)?.textContent).join(" ")) || words(e instanceof SVGElement ? e.querySelector(":scope > title")?.textContent : "");
	for (const e of document.querySelectorAll("a[href], button, input, select, textarea, summary, progress, [tabindex='0'], [role=region], [role=slider], section")) {
		if (!e.checkVisibility()) continue;
		const text = words(e.matches("input") ? "" : e.textContent), mine = words([...e.labels ?? []].map(l => l.textContent).join(" "));
		const name = label(e) || mine || (e.matches("section, progress, [role]") ? "" : text);
		if (name === "" && !(e.matches("section") && e.querySelector("h2, h3, h4"))) bad.add(named(e) + " has no name");
		if (!e.matches("button, input, select, textarea")) continue;
		if (text.length < 12 && words(e.title ?? "") === "" && words(e.closest("label")?.title) === "") bad.add(named(e) + " \"" + text + "\" has no tooltip");
		if (/\w{2}/.test(text) && label(e) !== "" && !label(e).toLowerCase().includes(text.toLowerCase())) bad.add(named(e) + " shows \"" + text + "\" and is called \"" + label(e) + "\"");
	}
	return [...bad].slice(0, 12);
})()`
