'use strict';
// The page asks the server once a second, and updates in place: existing elements stay, so the focus,
// open folds and the scroll position stay too. The server's texts become text nodes, nothing else.
(() => {
	const every = 1000, hidden = 5000, patience = 6000, listEvery = 10000; // milliseconds
	const silent = 10; // seconds without a new status, which a coordinator that leads should have sent
	const workersShown = 12, scenariosShown = 8;

	const $ = id => document.getElementById(id);
	const asked = new URLSearchParams(location.search).get('campaign') || '';
	const query = asked ? '?campaign=' + encodeURIComponent(asked) : '';
	const root = document.documentElement;

	// ---- elements

	function say(el, text) {
		text = String(text);
		const t = el.firstChild;
		if (t && !t.nextSibling && t.nodeType === Node.TEXT_NODE) {
			if (t.data !== text) t.data = text; // the node stays, and so does the selection
		} else if (el.textContent !== text) el.textContent = text;
	}

	function show(el, yes) { if (el.hidden === yes) el.hidden = !yes; }

	function dress(el, cls) { if (el.className !== cls) el.className = cls; }

	function made(tag, cls, ...children) {
		const el = document.createElement(tag);
		if (cls) el.className = cls;
		el.append(...children);
		return el;
	}

	// keep makes the children of an element those of a list, in its order. Each has a key.
	const kept = new WeakMap();
	function keep(parent, list, keyOf, make, update) {
		const old = kept.get(parent) || new Map(), now = new Map();
		list.forEach((item, i) => {
			let key = keyOf(item, i);
			while (now.has(key)) key += '+';
			const el = old.get(key) || make(item);
			now.set(key, el);
			update(el, item, i);
		});
		for (const [key, el] of old) if (!now.has(key)) el.remove();
		let at = parent.firstElementChild;
		for (const el of now.values()) {
			if (el === at) { at = at.nextElementSibling; continue; }
			if (el.parentNode === parent && parent.moveBefore) parent.moveBefore(el, at);
			else {
				const focus = el.contains(document.activeElement) && document.activeElement;
				parent.insertBefore(el, at);
				if (focus) focus.focus({ preventScroll: true });
			}
		}
		kept.set(parent, now);
	}

	// ---- numbers

	const number = n => Number(n || 0).toLocaleString('en');
	const count = (n, what) => number(n) + ' ' + what + (n === 1 ? '' : 's');
	const rate = n => n >= 10 ? number(Math.round(n)) : Number((n || 0).toPrecision(2)).toString();
	function span(s) {
		if (s < 1) return 'less than a second';
		if (s < 90) return count(Math.round(s), 'second');
		if (s < 5400) return count(Math.round(s / 60), 'minute');
		if (s < 172800) return count(Math.round(s / 360) / 10, 'hour');
		return count(Math.round(s / 8640) / 10, 'day');
	}
	function percent(part, all) {
		if (!all) return 0;
		return part >= all ? 100 : Math.min(Math.floor(part / all * 1000) / 10, 99.9);
	}
	const clock = t => t.toLocaleTimeString('en', { hour12: false });

	// tiles fills a list of figures: [name, what, more, remarkable].
	function tiles(dl, list) {
		keep(dl, list, f => f[0], f => made('div', '', made('dt', '', f[0]), made('dd'), made('dd', 'more')), (el, f) => {
			say(el.children[1], f[1]);
			say(el.children[2], f[2] || '');
			show(el.children[2], !!f[2]);
			dress(el, f[3] ? 'mark' : '');
		});
	}

	// ---- a campaign

	let before = null; // the previous status

	function news(text) { say($('news'), text); }

	function status(t) {
		show($('one'), t.known);
		show($('none'), !t.known);
		if (!t.known) {
			say($('none'), t.asked ? 'There is no campaign ' + t.asked + '.' : 'There is no campaign yet. kpsim-campaign start begins one.');
			say($('name'), 'kpsim campaigns');
			show($('state'), false);
			say($('about'), '');
			return;
		}
		const finds = t.finds || [], causesMet = Math.max(t.causes || 0, finds.length), open = ['starting', 'running', 'paused'].includes(t.state);
		const far = percent(t.done, t.units);
		document.title = far + ' % ' + t.id + ' – kpsim';
		say($('name'), t.id);
		show($('state'), true);
		say($('state'), t.state);
		dress($('state'), 'badge ' + (/^[a-z]+$/.test(t.state) ? t.state : ''));
		dress($('progress'), t.state === 'ended' ? 'ended' : '');
		say($('about'), 'Began ' + t.began.replace('T', ' ').replace('Z', ' UTC') + ', build ' + t.build + (t.priority ? ', priority ' + t.priority : ''));
		$('bar').max = Math.max(t.units, 1);
		$('bar').value = t.done;
		$('bar').setAttribute('aria-valuetext', far + ' %, ' + number(t.done) + ' of ' + number(t.units) + ' units');
		say($('far'), distance(t, far));
		tiles($('figures'), [
			['Runs', number(t.runs), t.runs_planned ? 'of ' + number(t.runs_planned) : ''],
			...(t.programs ? [['Programs', number(t.programs)]] : []),
			...(open ? [[t.programs ? 'Programs or runs per second' : 'Runs per second', rate(t.runs_per_s)], ['Workers', number(t.worker_count), count(t.cores, 'core')]] : []),
			['Causes found', number(causesMet), causesMet ? number(t.causes_new) + ' new, ' + number(causesMet - t.causes_new) + ' known' : '', t.causes_new > 0],
			['Violations', number(t.violations)],
			['Core time', span(t.core_seconds)],
			...(t.set_aside ? [['Set aside', count(t.set_aside, 'unit'), 'failed again and again', true]] : []),
		]);
		causes(finds, causesMet);
		coverage(t.coverage);
		troubles(t.troubles || [], t);
		searches(t.searches || []);
		show($('workers'), open); // the status of an ended campaign lists none
		workers(t);
		if (before && before.id === t.id) {
			const had = new Set((before.finds || []).map(f => f.cause));
			const more = finds.filter(f => !had.has(f.cause));
			if (t.state !== before.state) news(t.id + ' is ' + t.state);
			else if (more.length) news('Found: ' + more.map(f => f.cause).join(', '));
		}
		before = t;
	}

	function distance(t, far) {
		if (!t.told) return t.state === 'starting' ? 'Its files are being sent.' : 'It has no status yet. Does kpsim-campaign serve run?';
		let s = far + ' %: ' + number(t.done) + ' of ' + count(t.units, 'unit') + ' done';
		if (t.state === 'running') s += t.seconds_left ? ', about ' + span(t.seconds_left) + ' left' : !t.cores ? ', waiting for workers' : '';
		if (t.out) s += '; ' + number(t.out) + ' handed out';
		return s + '.';
	}

	const causeForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

	function causes(finds, all) {
		show($('finds-none'), !finds.length);
		show($('finds-more'), all > finds.length);
		say($('finds-more'), number(all - finds.length) + ' more aren\'t listed: kpsim-campaign finds has all.');
		keep($('finds-list'), finds, f => f.cause, () => {
			const el = made('article');
			el.append(made('div', 'titled', made('h3'), made('p', 'badge')), made('p'), made('p', 'soft'), made('ol'), made('p', 'soft'), made('pre', '', made('code')));
			el.children[4].append('Trace: ', made('a'), '. To run it again:');
			return el;
		}, (el, f) => {
			const [head, what, where, story, trace, type] = el.children, file = f.cause + '.kps', ok = causeForm.test(f.cause);
			dress(el, f.new ? 'new' : 'known');
			say(head.children[0], f.cause);
			dress(head.children[1], f.new ? 'badge new' : 'badge');
			say(head.children[1], f.new ? 'new' : 'known since ' + f.first);
			say(what, f.scenario + ' breaks ' + f.property + ': ' + f.message);
			say(where, [count(f.deviations, 'deviation'), f.engine && 'engine: ' + f.engine, f.place && 'at ' + f.place].filter(s => s).join(', '));
			keep(story, f.story || [], (s, i) => 's' + i, () => made('li'), say);
			show(story, !!(f.story || []).length);
			show(trace, ok);
			show(type, ok);
			if (!ok) return;
			const a = trace.querySelector('a');
			say(a, file);
			const to = 'find/' + encodeURIComponent(file);
			if (a.getAttribute('href') !== to) { a.href = to; a.download = file; }
			say(type.firstChild, 'kpsim replay ' + file);
		});
	}

	function coverage(c) {
		show($('coverage'), !!c);
		if (!c) return;
		tiles($('coverage-list'), [
			['Features seen', number(c.features), c.estimated ? 'of an estimated ' + number(c.estimated) : ''],
			['Chance of a new one', (100 * c.new).toPrecision(2) + ' %', 'with the next program'],
			...(c.blocks_all ? [['Blocks run', number(c.blocks), 'of ' + number(c.blocks_all)]] : []),
			['Programs kept', number(c.kept)],
		]);
	}

	const kinds = { r: 'runs', c: 'canary', w: 'witness', f: 'island', v: 'proof' };

	// unit says in words what the key CAMPAIGN.SEARCH.JOB.KIND.FROM.TO means.
	function unit(key, t) {
		const p = String(key).split('.');
		if (p.length !== 6 || p[0] !== t.id || !kinds[p[3]]) return key;
		const s = (t.searches || [])[p[1]], e = s && (s.scenarios || [])[p[2]];
		const [from, to] = [Number(p[4]), Number(p[5])];
		if (p[3] === 'f') return 'round ' + from + ', island ' + to;
		const of = (e ? e.scenario : 'scenario ' + p[2]) + ', ' + kinds[p[3]];
		if (from < 0 || p[3] === 'v') return of;
		return of + (to - from > 1 ? ' of shards ' + from + ' to ' + (to - 1) : ' of shard ' + from);
	}

	const keyOf = u => [u.campaign, u.search, u.job, u.kind, u.from, u.to].join('.');

	function troubles(list, t) {
		show($('troubles'), !!list.length);
		say($('troubles-all'), 'Units have failed ' + (t.trouble_count === 1 ? 'once' : number(t.trouble_count) + ' times') + '; these are the last ones. A unit that fails three times is set aside.');
		list = list.slice().reverse(); // newest first
		keep($('troubles-list'), list, x => keyOf(x.unit) + x.worker + x.why, () => {
			const log = Object.assign(made('pre', 'scroll'), { tabIndex: 0, role: 'region', ariaLabel: 'Log' });
			return made('li', '', made('p'), made('details', '', made('summary', '', 'Log'), log));
		}, (el, x) => {
			const mark = x.differ ? 'Two results: ' : x.lost ? 'Lost: ' : '';
			say(el.children[0], mark + unit(keyOf(x.unit), t) + ', on ' + x.worker + ': ' + x.why);
			show(el.children[1], !!x.log);
			say(el.children[1].lastChild, x.log || '');
		});
	}

	const broken = e => Object.keys(e.broken || {}).sort();

	function searches(list) {
		keep($('searches-list'), list, (s, i) => 's' + i, () => made('div', '',
			made('h3', 'command', made('code')), made('p', 'so-far'), table('Scenarios that are not done, or broken'),
			fold('Scenarios not begun'), fold('Scenarios done')), (el, s) => {
			const [title, far, open, later, done] = el.children;
			say(title.firstChild, s.title);
			say(far, number(s.done) + ' of ' + count(s.units, 'unit') + ' done');
			const bad = [], begun = [], next = [], rest = [], ended = [];
			(s.scenarios || []).forEach((e, i) => {
				const to = broken(e).length ? bad : e.done >= e.units ? ended : e.done ? begun : next.length < scenariosShown ? next : rest;
				to.push([e, i]);
			});
			rows(open, bad.concat(begun, next));
			folded(later, rest, 'more scenario', 'not begun');
			folded(done, ended, 'scenario', 'done, nothing broken');
		});
	}

	let tables = 0;
	function table(caption) {
		const id = 'table-' + ++tables;
		const head = made('tr', '', ...['Scenario', 'Runs', 'Units', 'Broken'].map((h, i) => {
			const th = made('th', i === 1 || i === 2 ? 'n' : '', h);
			th.scope = 'col';
			return th;
		}));
		const c = made('caption', 'unseen', caption);
		c.id = id;
		const el = made('div', 'scroll', made('table', 'scenarios', c, made('thead', '', head), made('tbody')));
		el.setAttribute('role', 'region');
		el.setAttribute('aria-labelledby', id);
		el.tabIndex = 0;
		return el;
	}

	function rows(el, list) {
		show(el, !!list.length);
		keep(el.querySelector('tbody'), list, x => 'e' + x[1], () => {
			const th = made('th');
			th.scope = 'row';
			return made('tr', '', th, made('td', 'n'), made('td', 'n'), made('td'));
		}, (tr, [e]) => {
			say(tr.children[0], e.scenario);
			say(tr.children[1], number(e.runs) + ' of ' + number(e.runs_planned));
			say(tr.children[2], number(e.done) + ' of ' + number(e.units));
			const names = broken(e);
			dress(tr.children[3], names.length ? 'bad' : '');
			say(tr.children[3], names.length ? '✗ ' + names.map(n => n + ' by ' + count(e.broken[n], 'run')).join(', ') : '');
		});
	}

	function fold(caption) { return made('details', 'folded', made('summary'), table(caption)); }

	function folded(el, list, what, how) {
		show(el, !!list.length);
		say(el.firstChild, count(list.length, what) + ' ' + how);
		rows(el.lastChild, list);
	}

	function workers(t) {
		const lacks = w => (w.lacks || []).length > 0;
		const all = (t.workers || []).slice().sort((a, b) => lacks(b) - lacks(a));
		say($('workers-title'), t.worker_count ? 'Workers (' + number(t.worker_count) + ')' : 'Workers');
		show($('workers-none'), !all.length);
		const put = (ul, list) => keep(ul, list, w => w.name, () => made('li', 'card', made('p', '', made('b'), ' ', made('span', 'soft')), made('p', 'soft'), made('ul', 'plain')), (el, w) => {
			dress(el, lacks(w) ? 'card lacks' : 'card');
			say(el.firstChild.children[0], w.name);
			say(el.firstChild.children[1], count(w.cores, 'core') + ', ' + count(w.units, 'unit') + ' made');
			say(el.children[1], w.doing ? 'Now: ' + unit(w.doing, t) : 'Idle');
			keep(el.children[2], w.lacks || [], (s, i) => 'l' + i, () => made('li', 'bad'), (li, s) => say(li, 'Lacks ' + s));
			show(el.children[2], lacks(w));
		});
		put($('workers-list'), all.slice(0, workersShown));
		const rest = all.slice(workersShown);
		put($('workers-rest'), rest);
		show($('workers-more'), !!rest.length);
		const untold = t.worker_count - all.length;
		say($('workers-more-title'), count(rest.length, 'more worker') + (untold > 0 ? ', and ' + number(untold) + ' that are not listed' : ''));
	}

	// ---- the list of campaigns

	function campaigns(list) {
		say($('campaigns-title'), 'All campaigns (' + number(list.length) + ')');
		keep($('campaigns-list'), list, c => c.id, c => {
			const a = made('a');
			a.href = '?campaign=' + encodeURIComponent(c.id);
			return made('li', '', a, made('span'));
		}, (el, c) => {
			const a = el.firstChild, here = before && before.id === c.id;
			say(a, c.id);
			if (here) a.setAttribute('aria-current', 'page');
			else a.removeAttribute('aria-current');
			say(el.lastChild, ', ' + c.state + ((c.causes || []).length ? ', ' + count(c.causes.length, 'cause') : ''));
		});
	}

	// ---- asking

	async function ask(url) {
		const r = await fetch(url, { cache: 'no-store', signal: AbortSignal.timeout(patience) });
		if (!r.ok) throw new Error(r.status + ' ' + await r.text());
		return r.json();
	}

	function banner(text) {
		const el = $('gone');
		show(el, !!text);
		say(el, text);
		root.dataset.stale = text ? 'yes' : 'no';
	}

	let goneSince = null, silentSince = null, listed = 0, timer = 0, asking = false;

	async function turn() {
		if (asking) return;
		asking = true;
		clearTimeout(timer);
		try {
			const t = await ask('status.json' + query);
			if (goneSince) news('The server answers again.');
			goneSince = null;
			status(t);
			const quiet = t.known && t.told && t.state === 'running' && t.told_ago_s > silent;
			silentSince = quiet ? silentSince || new Date(Date.now() - 1000 * t.told_ago_s) : null;
			banner(quiet ? 'No coordinator has sent a status since ' + clock(silentSince) + '. Does kpsim-campaign serve run?' : '');
			if (Date.now() - listed > listEvery) {
				campaigns(await ask('campaigns.json'));
				listed = Date.now();
			}
			root.dataset.ready = 'yes';
		} catch (e) {
			goneSince ||= new Date();
			listed = 0;
			banner('The server has not answered since ' + clock(goneSince) + ': these figures are old. The page keeps asking.');
		}
		asking = false;
		timer = setTimeout(turn, document.hidden ? hidden : every);
	}

	document.addEventListener('visibilitychange', () => { if (!document.hidden) turn(); });
	$('as-json').href = 'status.json' + query;
	turn();
})();
