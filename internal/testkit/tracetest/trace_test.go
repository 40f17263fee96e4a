package tracetest

import (
	"strings"
	"testing"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// odd finds fault with an unpaired Unlock, and at the end with a Lock.
type odd struct{ held int }

func (m *odd) Reset() { m.held = 0 }

func (m *odd) Event(e *traces.Event) *traces.Finding {
	if e.Kind == smpev.Lock {
		m.held++
	} else if m.held--; m.held < 0 {
		return &traces.Finding{Place: e.A, Message: "unlocked twice"}
	}
	return nil
}

func (m *odd) End(drained bool) *traces.Finding {
	if drained && m.held > 0 {
		return &traces.Finding{Message: "left locked"}
	}
	return nil
}

func player() *Player {
	return NewPlayer(Watch{"ODD", []traces.Kind{smpev.Lock, smpev.Unlock}, new(odd)})
}

// Judge agrees only if the property, the event and the message are as expected.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(tr *Trace)
		err   string // part of it, "" if the log is as it says
	}{
		{"right", func(tr *Trace) { tr.Lock(1).Unlock(1); tr.ExpectNone() }, ""},
		{"found", func(tr *Trace) { tr.Unlock(1); tr.ExpectViolation("ODD", "twice") }, ""},
		{"at-end", func(tr *Trace) { tr.Lock(1).End(true).ExpectViolation("ODD", "left") }, ""},
		{"not-drained", func(tr *Trace) { tr.Lock(1).End(false).ExpectNone() }, ""},
		{"silent", func(tr *Trace) { tr.Unlock(1) }, "doesn't say"},
		{"unexpected", func(tr *Trace) { tr.Unlock(1); tr.ExpectNone() }, "nothing is broken, but found: ODD at event 0: unlocked twice"},
		{"not-found", func(tr *Trace) { tr.Lock(1); tr.ExpectViolation("ODD", "") }, "found: nothing"},
		{"other-property", func(tr *Trace) { tr.Unlock(1); tr.ExpectViolation("EVEN", "") }, "expected EVEN"},
		{"other-message", func(tr *Trace) { tr.Unlock(1); tr.ExpectViolation("ODD", "thrice") }, "(thrice)"},
		{"too-early", func(tr *Trace) { tr.Unlock(1).Lock(1); tr.ExpectViolation("ODD", "") }, "expected ODD at event 1 (), found: ODD at event 0"},
		{"before-end", func(tr *Trace) {
			tr.Unlock(1).End(true).ExpectViolation("ODD", "")
		}, "expected ODD at event END"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := New()
			c.build(tr)
			if got := tr.Judge(player()); got != c.err && (c.err == "" || !strings.Contains(got, c.err)) {
				t.Errorf("Judge says %q, want %q", got, c.err)
			}
		})
	}
}

// What the builder writes, event by event.
func TestEvents(t *testing.T) {
	tr := New()
	tr.Load(0x1000, "55", "48 89 e5").Image(0x1000, 0xe9, 1, 2, 3, 4)
	tr.Store(0x1006, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	cpu1 := tr.On(1, 2).Break(0x1000).Trap(smpev.VecNMI, 0x9000)
	cpu1.Return(smpev.VecNMI, 0x9000).Own(0x1000, smpev.OwnerPoke).Resume(0x1005)
	tr.Register(3, 0x1000).Disable(3).On(1, 2).Pre(3).CallEnd(4, 5)
	tr.End(true)

	want := `
    0 cpu0 task0 Load addr=0x1000 lo=0x55 hi=0x100000000000000
    1 cpu0 task0 Load addr=0x1001 lo=0xe58948 hi=0x300000000000000
    2 cpu0 task0 Image addr=0x1000 lo=0x4030201e9 hi=0x500000000000000
    3 cpu0 task0 TextStore addr=0x1006 bytes=0x201 len=0x2
    4 cpu0 task0 TextStore addr=0x1008 bytes=0xa09080706050403 len=0x8
    5 cpu0 task0 TextStore addr=0x1010 bytes=0xb len=0x1
    6 cpu1 task2 Exec ip=0x1000 lo=0xcc hi=0x100000000000000
    7 cpu1 task2 Trap vector=0x3 ip=0x1001 addr=0x0
    8 cpu1 task2 Trap vector=0x2 ip=0x9000 addr=0x0
    9 cpu1 task2 Return vector=0x2 ip=0x9000 depth=0x1
   10 cpu1 task2 Claim vector=0x3 ip=0x1001 owner=0x1
   11 cpu1 task2 Return vector=0x3 ip=0x1005 depth=0x0
   12 cpu0 task0 ApiEnter api=0x1 probe=0x3 addr=0x1000
   13 cpu0 task0 ApiReturn api=0x1 probe=0x3 errno=0x0
   14 cpu0 task0 ApiEnter api=0x4 probe=0x3 addr=0x1000
   15 cpu0 task0 ApiReturn api=0x4 probe=0x3 errno=0x0
   16 cpu1 task2 Handler probe=0x3 which=0x1 addr=0x1000
   17 cpu1 task2 CallEnd task=0x2 call=0x4 digest=0x5
   18 cpu0 task0 Done drained=0x1
`
	if got := "\n" + tr.String(); got != want {
		t.Errorf("got%swant%s", got, want)
	}
}

// A log that has ended, or has said what is expected, takes no more events.
func TestNothingFollows(t *testing.T) {
	for _, end := range []func(tr *Trace){
		func(tr *Trace) { tr.End(true) },
		func(tr *Trace) { tr.ExpectNone() },
		func(tr *Trace) { tr.ExpectViolation("ODD", "") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("an event was taken behind the end")
				}
			}()
			tr := New()
			tr.Lock(1)
			end(tr)
			tr.Unlock(1)
		}()
	}
}
