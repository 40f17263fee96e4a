package viewer_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stretchr/testify/assert"

	"kpsim/internal/search/replay"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// word holds a word of a sentence against its event.
func (c *cited) word(word, says string, e *traces.Event, s *view.Sentence) {
	also := func(i int) *traces.Event {
		if !assert.Greater(c.t, len(s.Also), i, "it depends on too few events: %s", c.says) {
			return e
		}
		return &c.ev[s.Also[i]]
	}
	is := func(want any) { assert.Equal(c.t, fmt.Sprint(want), says, "<%s> of %s", word, c.says) }
	arrival := func() *traces.Event { return also(len(s.Also) - 1) }
	switch word {
	case "cpu":
		is(e.CPU)
	case "A", "over":
		c.place(e.A, says, e)
	case "B":
		c.place(e.B, says, e)
	case "C":
		c.place(e.C, says, e)
	case "at":
		c.place(c.registered(e), says, e)
	case "end":
		c.place(c.in.PlaceAt, says, e)
	case "next":
		from := e
		if e.Kind == smpev.Trap && e.A == smpev.VecBP { // it comes there from what it was sent to
			_, from = c.pair(e)
		}
		c.comes(from, says)
	case "hit", "sent":
		trap, back := c.pair(e)
		if assert.NotNil(c.t, trap, c.says) && word == "hit" {
			c.place(trap.B-c.past(), says, e)
		} else if assert.NotNil(c.t, back, c.says) && word == "sent" {
			c.place(back.B, says, e)
		}
	case "arrived":
		if strings.HasSuffix(s.Text, " afterwards.") {
			assert.Greater(c.t, arrival().Seq, e.Seq, c.says)
		}
		c.comes(arrival(), says)
	case "arriver":
		is(c.task(c.moved(arrival())))
	case "other":
		is(arrival().CPU)
	case "rest":
		n, _ := strconv.Atoi(says)
		rest := &c.ev[n]
		kind, what := smpev.Switch, "switch"
		if rest.Kind == smpev.Trap {
			kind, what = smpev.Trap, "tick"
		}
		assert.Equal(c.t, kind, rest.Kind, c.says)
		assert.Contains(c.t, s.Text, fmt.Sprintf("cpu%d's %s at event %s ", rest.CPU, what, says), c.says)
	case "trapped":
		c.place(also(0).B, says, e)
	case "stood":
		assert.True(c.t, c.stands(e, says), c.says)
	case "alsoTask":
		is(c.task(uint64(also(0).Task)))
	case "alsoLock":
		is(c.in.Lock(also(0).A))
		assert.Equal(c.t, e.Task, also(0).Task, c.says)
	case "bytes":
		is(fmt.Sprintf("% x", unpacked(e)))
	case "insn":
		c.instruction(e, says)
	case "behind":
		c.instruction(also(0), says)
	case "before":
		c.instruction(&traces.Event{Seq: e.Seq, A: e.B, B: c.word64(e.B, e), C: c.word64(e.B+8, e)&(1<<56-1) | 15<<56},
			says)
	case "image":
		for i := e.Seq; ; i-- {
			if o := &c.ev[i]; o.Kind == smpev.Image && e.A-o.A < o.C>>56 && o.C>>56 > 1 {
				in, err := c.in.Arch.Decode(unpacked(o), arch.Addr(o.A))
				to, ok := in.Target()
				if assert.NoError(c.t, err, c.says) && assert.True(c.t, ok, c.says) {
					if !strings.Contains(says, "+") {
						says += "+0x0"
					}
					c.place(uint64(to), says, o)
				}
				break
			}
		}
	case "held":
		is(fmt.Sprintf("%02x", c.byteAt(c.where(s.Text, e), e.Seq)))
	case "linked":
		is(fmt.Sprintf("%02x", c.byteAt(c.in.PlaceAt, 0)))
	case "areaA":
		c.area(e.A, says, e)
	case "areaEnd":
		c.area(c.in.PlaceAt, says, e)
	case "into":
		c.area(c.nextIP(e), says, e)
	case "passed":
		trap, _ := c.pair(e)
		if assert.NotNil(c.t, trap, c.says) {
			c.area(trap.B-c.past(), says, e)
		}
	case "task":
		is(c.task(uint64(e.Task)))
	case "taskA":
		is(c.task(e.A))
	case "taskB":
		is(c.task(e.B))
	case "lock":
		is(c.in.Lock(e.A))
	case "probeA":
		is(c.in.Probe(e.A))
	case "probeB":
		is(c.in.Probe(e.B))
	case "api":
		assert.Equal(c.t, apis[says], e.A, c.says)
	case "handler":
		assert.Equal(c.t, handlers[says], e.B, c.says)
	case "flavour":
		assert.Equal(c.t, flavours[says], e.A, c.says)
	case "vector":
		v, ok := vectors[says]
		if !ok {
			is(c.in.Arch.InWords(smpev.Vector(e.A)))
			return
		}
		assert.Equal(c.t, v, e.A, c.says)
	case "errno":
		is(kpev.Errno(e.C))
	case "cell":
		if e.C == 0 {
			is(replay.CellName(c.r.Rig.Machine, e.A))
		} else if !strings.HasPrefix(says, "the stack of ") {
			is(strings.TrimSuffix(c.in.Symbol(e.A), "+0x0"))
		}
	case "nA":
		is(e.A)
	case "nB":
		is(e.B &^ smpev.MayMiss)
	case "event":
		n, _ := strconv.Atoi(says)
		assert.Less(c.t, n, len(c.ev), c.says)
	default:
		c.t.Fatalf("%s: nothing holds <%s>", c.says, word)
	}
}

// past returns how far behind a breakpoint its handler finds the instruction pointer.
func (c *cited) past() uint64 { return uint64(c.r.Rig.Scenario.Machine.Processor().Past) }

// place holds a place in words against an address. Slots and detours are named as they were
// handed out, up to the event.
func (c *cited) place(a uint64, says string, e *traces.Event) {
	name, off, _ := strings.Cut(says, "+")
	n, _ := strconv.ParseUint(off, 0, 64)
	if m, ok := c.memory[name]; ok {
		assert.Equal(c.t, fmt.Sprintf("%#x", m.at+n), fmt.Sprintf("%#x", a), c.says)
		assert.LessOrEqual(c.t, m.since, e.Seq, c.says)
		assert.LessOrEqual(c.t, a, m.end, c.says)
		return
	}
	if at, _, ok := c.r.Rig.Machine.Names().FindSymbol(name); ok {
		assert.Equal(c.t, fmt.Sprintf("%#x", uint64(at)+n), fmt.Sprintf("%#x", a), "%s is %s", c.says, c.in.Symbol(a))
		return
	}
	if says == "kernel code" || says == "idle" {
		assert.Equal(c.t, c.in.KernelIP, a, c.says)
		return
	}
	assert.Equal(c.t, c.in.Symbol(a), says, c.says) // of a kernel's own text
}

// area holds the name of memory that is handed out against an address in it.
func (c *cited) area(a uint64, says string, e *traces.Event) {
	m, ok := c.memory[says]
	if !ok {
		assert.Equal(c.t, "memory at "+c.in.Symbol(a), says, c.says)
		return
	}
	assert.True(c.t, m.at <= a && a < m.end && m.since <= e.Seq, c.says)
}

// comes holds a place against where the task of an event goes on after it.
func (c *cited) comes(from *traces.Event, says string) { c.place(c.nextIP(from), says, from) }

// moved is the task that an event moves.
func (c *cited) moved(e *traces.Event) uint64 {
	if e.Kind == smpev.Switch {
		return e.B
	}
	return uint64(e.Task)
}

// nextIP is where the task of an event goes on after it: what it runs next, or where a trap
// takes it.
func (c *cited) nextIP(e *traces.Event) uint64 {
	for i := int(e.Seq) + 1; i < len(c.ev); i++ {
		switch o := &c.ev[i]; {
		case uint64(o.Task) != c.moved(e):
		case o.Kind == smpev.Exec:
			return o.A
		case o.Kind == smpev.Trap && o.A == smpev.VecBP:
			return o.B - 1
		case o.Kind == smpev.Trap, o.Kind == smpev.Return:
			return o.B
		}
	}
	return 0
}

// stands reports whether a task stands at a place when an event comes.
func (c *cited) stands(e *traces.Event, says string) bool {
	for task := range c.r.Rig.Machine.Tasks().All() {
		at := c.nextIP(&traces.Event{Seq: e.Seq, Task: uint8(task)})
		for name, m := range c.memory {
			if m.at <= at && at < m.end && fmt.Sprintf("%s+%#x", name, at-m.at) == says {
				return true
			}
		}
		if c.in.Symbol(at) == says {
			return true
		}
	}
	return false
}

// registered is the address of the probe of an event.
func (c *cited) registered(e *traces.Event) uint64 {
	for i := int(e.Seq); i >= 0; i-- {
		if o := &c.ev[i]; o.Kind == kpev.ApiEnter && o.A == kpev.Register && o.B == e.B {
			return o.C
		}
	}
	return 0
}

// where is the address that a sentence says the byte of.
func (c *cited) where(text string, e *traces.Event) uint64 {
	if e.Kind == kpev.ApiReturn {
		return c.registered(e)
	}
	return c.in.PlaceAt
}

// byteAt is what memory held before an event; of event 0, what is linked there.
func (c *cited) byteAt(a uint64, before uint32) (b byte) {
	for i := range c.ev {
		e := &c.ev[i]
		switch {
		case e.Kind == smpev.Load && a-e.A < e.C>>56:
			b = unpacked(e)[a-e.A]
		case e.Kind == smpev.TextStore && a-e.A < e.C && e.Seq < before:
			b = byte(e.B >> (8 * (a - e.A)))
		case e.Kind == smpev.Free && a-e.A < e.B && e.Seq < before:
			b = c.in.Arch.Filled(arch.Addr(a))
		}
	}
	return b
}

func (c *cited) word64(a uint64, e *traces.Event) (v uint64) {
	for i := range uint64(8) {
		v |= uint64(c.byteAt(a+i, e.Seq)) << (8 * i)
	}
	return v
}

// instruction holds an instruction in words against the bytes of an event.
func (c *cited) instruction(e *traces.Event, says string) {
	in, err := c.in.Arch.Decode(unpacked(e), arch.Addr(e.A))
	if err != nil {
		assert.Equal(c.t, "(no instruction)", says, c.says)
		return
	}
	want := in.String()
	if to, ok := in.Target(); ok {
		lead, rest, _ := strings.Cut(want, fmt.Sprintf("%#x", uint64(to)))
		if says = strings.TrimSuffix(says, rest); assert.True(c.t, strings.HasPrefix(says, lead), c.says) {
			c.place(uint64(to), says[len(lead):], e)
		}
		return
	}
	assert.Equal(c.t, want, says, c.says)
}

// task names a task, without the CPU of an idle one or of a stopper.
func (c *cited) task(id uint64) string {
	name, _, _ := strings.Cut(c.in.Task(id), "/")
	return name
}

func unpacked(e *traces.Event) []byte {
	b, n := traces.UnpackBytes(e.B, e.C)
	return b[:min(n, len(b))]
}

// pair returns the breakpoint's trap and the return from it, of which e is one.
func (c *cited) pair(e *traces.Event) (trap, back *traces.Event) {
	step, depth := 1, 0
	if e.Kind == smpev.Return {
		step = -1
	}
	for i := int(e.Seq); i >= 0 && i < len(c.ev); i += step {
		o := &c.ev[i]
		switch {
		case o.Task != e.Task:
			continue
		case o.Kind == smpev.Trap:
			depth++
		case o.Kind == smpev.Return:
			depth--
		default:
			continue
		}
		if depth == 0 {
			if step < 0 {
				return o, e
			}
			return e, o
		}
	}
	if step > 0 && e.Kind == smpev.Trap {
		return e, nil
	}
	return nil, nil
}
