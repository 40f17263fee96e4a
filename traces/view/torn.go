package view

import (
	"fmt"
	"slices"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A torn is a memcpy to text that took several stores, of which an instruction that was run has some and lacks others.
// No breakpoint kept CPUs out of it and no stop_machine held them, so IPIs after it don't prevent that.
type torn struct {
	stores       []int // their events
	seen, unseen []int // those of them that the instruction has, and lacks
	img          int   // the event that announced what is written
}

// tornIn returns the memcpy that was torn in the bytes run at event v, nil if none was.
func (p *past) tornIn(s *sources, v int) *torn {
	for _, i := range s.order {
		t := &torn{stores: p.memcpy(i, v)}
		first := t.stores[0]
		if t.img = p.imageOver(p.ev[first].A, first); len(t.stores) < 2 || p.breaks(s.ran.at, first) || p.stopped(first) {
			continue
		}
		for _, i := range t.stores {
			if slices.ContainsFunc(s.newer, func(list []int) bool { return slices.Contains(list, i) }) {
				t.unseen = append(t.unseen, i)
			} else if slices.ContainsFunc(s.from, func(v version) bool { return v.at == i }) {
				t.seen = append(t.seen, i)
			}
		}
		if len(t.seen) > 0 && len(t.unseen) > 0 {
			return t
		}
	}
	return nil
}

// memcpy returns the stores before event v of the memcpy that the store at event i is of, with what other tasks did
// between them.
func (p *past) memcpy(i, v int) []int {
	list, task := []int{i}, p.ev[i].Task
	w := write{p.ev[i].A, p.ev[i].A + p.ev[i].C, i, i}
	for k := i + 1; k < v; k++ {
		e := &p.ev[k]
		if e.Task != task {
			continue
		}
		if e.Kind != smpev.TextStore || e.A != w.end || !p.pieces(w, k) {
			break
		}
		w.end, w.last, list = e.A+e.C, k, append(list, k)
	}
	for k := i - 1; k >= 0; k-- {
		e := &p.ev[k]
		if e.Task != task {
			continue
		}
		if e.Kind != smpev.TextStore || e.A+e.C != w.at || !p.pieces(write{e.A, e.A + e.C, k, k}, w.first) {
			break
		}
		w.at, w.first, list = e.A, k, slices.Insert(list, 0, k)
	}
	return list
}

// stopped reports whether stop_machine held the CPUs at event i.
func (p *past) stopped(i int) bool {
	stop := p.last(i, func(e *traces.Event) bool { return e.Kind == smpev.StopStart || e.Kind == smpev.StopEnd })
	return stop >= 0 && p.ev[stop].Kind == smpev.StopStart
}

// parts returns the first two stores of the memcpy that the instruction tells apart, and where they meet.
func (t *torn) parts(p *past) (a, b int, at uint64) {
	for k, i := range t.stores[1:] {
		a, b = t.stores[k], i
		if slices.Contains(t.unseen, a) != slices.Contains(t.unseen, b) {
			break
		}
	}
	return a, b, p.ev[b].A
}

// parted says why stores that meet at an address aren't one.
func parted(at uint64) string {
	if at%chunk == 0 {
		return fmt.Sprintf("crosses 8 aligned bytes at %#x, so it can't be one store", at)
	}
	return fmt.Sprintf("was parted at %#x, inside 8 aligned bytes", at)
}

// tellTorn explains an instruction that has a part of a memcpy. It returns false if none was torn.
func (p *tale) tellTorn(s *sources, v int) bool {
	t := p.tornIn(s, v)
	if t == nil {
		return false
	}
	a, b, at := t.parts(p.past)
	name := p.imageName(t.img)
	p.say(a, 0, "Of %s, %s stored %s at event %d, and %s at event %d.", name, p.who(a), p.bytesOf(a), p.ev[a].Seq,
		p.bytesOf(b), p.ev[b].Seq)
	p.say(b, 0, "The write of %s %s.", name, parted(at)).also(p, a)
	between := ""
	if slices.Contains(t.unseen, b) {
		between = " came between them: it"
	}
	p.say(v, 0, "%s's fetch%s saw the store of event %d, but not that of event %d.", p.who(v), between,
		p.ev[t.seen[0]].Seq, p.ev[t.unseen[0]].Seq).also(p, t.stores...)
	return true
}

// bytesOf names the bytes of the store at event i.
func (p *past) bytesOf(i int) string { return p.places(span{p.ev[i].A, p.ev[i].A + p.ev[i].C}) }

// citeParts says that the fetch at event x came between stores of one memcpy, and why they aren't one.
func (p *tale) citeParts(t *torn, x int) {
	a, b, at := t.parts(p.past)
	p.say(b, 0, "%s's fetch came between the stores of event %d and event %d: the write %s.", p.who(x), p.ev[a].Seq,
		p.ev[b].Seq, parted(at)).also(p, a, x)
}
