package linux

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/engine"
	"kpsim/engine/ftrace"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/traces"
)

var examAll = flag.Bool("exam-all", false, "ask every row that is recorded of real kernels, not one in 64 or fewer")

// examStep is which rows are asked by default; fewer of sets of many modules, each of
// which is a boot.
var examStep = thorough.Of(160, 64)

// examPart is how many rows one boot of the kernel answers.
const examPart = 2000

// TestExam asks a kernel's own register_kprobe on our machine what a real kernel has
// been asked, and compares: errno, whether it was optimized, goes through ftrace or is
// emulated, the size of the instruction, whether an aggregator was made, where the probe
// went, what was written there, and the copy of the instruction.
func TestExam(t *testing.T) {
	for _, kernel := range []struct{ dir, series string }{
		{"k510", "5.10"}, {"k61", "6.1"}, {"k612", "6.12"}, {dir386, ""},
	} {
		t.Run(kernel.dir, func(t *testing.T) {
			k, err := Open(fileOf(t, kernel.series))
			require.NoError(t, err)
			files, err := filepath.Glob(filepath.Join(examDir, kernel.dir, "*.csv.gz"))
			require.NoError(t, err)
			for _, path := range files {
				set, kind := setOf(path)
				if kind == "bytes" {
					continue
				}
				t.Run(set+"_"+kind, func(t *testing.T) {
					modules := readModules(t, filepath.Dir(path), set)
					all := readQuestions(t, path)
					list := all
					if !*examAll {
						list = nil
						for i := 0; i < len(all); i += examStep * (1 + len(modules)/8) {
							list = append(list, all[i])
						}
					}
					agree, without, err := answer(t, k, kernel.dir, kind, modules, list, 1<<40, t.Errorf)
					require.NoError(t, err)
					t.Logf("%d of %d rows asked, %d agree, %d left out: ftrace isn't served", len(list), len(all),
						agree, without)
					require.Equal(t, len(list), agree+without)
				})
			}
		})
	}
}

// dir386 has the rows of a kernel for i386.
const dir386 = "k61i386"

// fileOf returns the file of a series, or, without one, of a kernel for i386.
func fileOf(t testing.TB, series string) string {
	if series == "" {
		return kerneltest.I386(t)
	}
	return kerneltest.Path(t, series)
}

// answer has a kernel answer rows of a kind: how many agree, and how many were left out. A
// module's rows take at most so many boundaries.
func answer(t testing.TB, k *Kernel, dir, kind string, modules []module, list []question, budget uint64,
	tell func(format string, a ...any)) (agree, without int, err error) {
	for len(list) > 0 && err == nil {
		var m module
		var part []question
		m, part, list = next(modules, list)
		e := bootExam(t, k, dir, m.codes, budget)
		err = e.ask(kind, m, part, tell)
		e.m.Close()
		agree, without = agree+e.agree, without+e.without
	}
	return agree, without, err
}

// Examined asks a kernel every row in step of the recorded functions that were written by
// hand, and says what differs, "" if nothing does.
func Examined(t testing.TB, k *Kernel, series string, step int) string {
	kernel := map[string][2]string{"6.1": {"k61", "hand"}, "6.12": {"k612", "modes"}}[series]
	dir := filepath.Join(examDir, kernel[0])
	modules := readModules(t, dir, kernel[1])
	asked, agree := 0, 0
	for _, kind := range []string{"pre", "post", "disabled", "near", "twoprepost"} {
		var list []question
		for i, q := range readQuestions(t, filepath.Join(dir, kernel[1]+"_"+kind+".csv.gz")) {
			if i%step == 0 {
				list = append(list, q)
			}
		}
		same, without, err := answer(t, k, kernel[0], kind, modules, list, 1<<24, func(string, ...any) {})
		if err != nil {
			return "a run ends: " + err.Error()
		}
		asked, agree = asked+len(list), agree+same+without
	}
	if agree == asked {
		return ""
	}
	return fmt.Sprintf("%d of %d rows differ", asked-agree, asked)
}

// next returns the rows of one module that are asked next, and the others.
func next(modules []module, list []question) (m module, part, rest []question) {
	for _, m = range modules {
		if m.named[list[0].function] != nil {
			break
		}
	}
	n := 0
	for n < min(len(list), examPart) && m.named[list[n].function] != nil {
		n++
	}
	return m, list[:n], list[n:]
}

// An exam is a machine with a kernel's engine that answers rows.
type exam struct {
	*Linux
	m       *smp.Machine
	log     traces.Log
	body    func(x kapi.Context)
	ftrace  bool      // it is served
	away    arch.Addr // how far the module is from where it was recorded
	agree   int
	wrong   int
	without int // rows of entry probes, if ftrace isn't served
	config  engine.Config
	emul    field // where a struct kprobe says how it is emulated
	isize   field

	wrongBoot error
}

// bootExam boots a kernel that has the functions as text of its own. A run of it takes at
// most so many boundaries.
func bootExam(t testing.TB, k *Kernel, name string, codes []code, budget uint64) *exam {
	e := new(exam)
	m, err := smp.New(smp.Config{CPUs: 1, Full: k.Preemptible(), Budget: budget, Arch: k.Arch()}, &e.log)
	require.NoError(t, err)
	e.m = m
	n := kernel.Boot(m, kernel.Config{Preemptible: k.Preemptible()})
	tracer := ftrace.New(ftrace.Deps{Boot: n, Cells: &m.Cells, Text: &n.Text, Form: &k.Arch().Sites[0],
		Patch: &n.Poke, RCU: &n.RCU, Traps: &n.Traps, ModuleMutex: n.Modules.Mutex})
	for _, c := range codes {
		m.Memory().Map(c.at, c.bytes, smp.PermRead|smp.PermExec)
		m.Names().AddSymbol(c.name, c.at, len(c.bytes))
		n.Symbols.Add(kapi.Function{Name: c.name, Addr: c.at, Size: len(c.bytes)}, nil)
	}
	last := codes[len(codes)-1]
	m.Memory().Map((last.at+arch.Addr(len(last.bytes))+page-1)&^(page-1), make([]byte, page), smp.PermRead|smp.PermExec)
	if name == dir386 {
		declareFacts386(n, tracer, k.Arch().BranchNop, codes)
	} else {
		declareFacts(m, n, tracer, name, codes)
	}
	settings := &Settings{Kernel: k}
	e.config = engine.Config{Settings: settings, Booted: Row.Boot(settings, &n.Guest, 1)}
	m.Tasks().AddProgram("exam", 0, func(x *smp.Ctx) {
		if e.wrongBoot = e.Boot(x); e.wrongBoot == nil {
			e.body(x)
		}
	})
	m.Names().Further = k.Symbol
	m.Freeze()
	m.Reset(new(sched.Default))
	n.Reset()
	e.config.Handle = func(kapi.Context, engine.Hit) int { return 0 }
	e.config.Deps = engine.Deps{
		CPUs: 1, Cells: &m.Cells, Text: &n.Text, Patch: &n.Poke, Sync: &n.Sync, RCU: &n.RCU, Locks: &n.Locks,
		Work: &n.Work, Exec: &n.Exec, Traps: &n.Traps, Bind: n, Symbols: &n.Symbols, Tasks: &n.Tasks,
		Hotplug: &n.Hotplug,
		Stacks:  &n.Stacks, Modules: &n.Modules, ModuleMutex: n.Modules.Mutex(), Ftrace: tracer.Tracer(),
		Guest: &n.Guest,
		Tell:  func(kapi.Context, traces.Kind, uint64, uint64, uint64) {},
	}
	e.config.Probes = []engine.Probe{{Handlers: 1 << kpev.Pre}, {Handlers: 1 << kpev.Pre}}
	e.Linux = Row.New(&e.config).(*Linux)
	e.BootCPUs()
	of := func(member string) field {
		off, size, ok := k.Image.Types().Off("kprobe", member)
		require.True(t, ok, member)
		return field{off, size}
	}
	for i := range k.services {
		e.ftrace = e.ftrace || k.services[i].name == "register_ftrace_function"
	}
	e.emul, e.isize = of("ainsn.emulate_op"), of("ainsn.size")
	return e
}

// ask asks rows, one after the other, and tells of the first that differ.
func (e *exam) ask(kind string, m module, list []question, tell func(format string, a ...any)) error {
	e.away = m.away
	e.body = func(x kapi.Context) {
		for i := range list {
			e.one(x, kind, m.named[list[i].function], &list[i], tell)
		}
	}
	if o := e.m.Run(); o != smp.Passed {
		return fmt.Errorf("%v: %w %v", o, e.m.Refusal(), e.m.Died())
	}
	return e.wrongBoot
}

// one registers the probe or the two probes of a row, waits for the optimizer, looks,
// and unregisters them.
func (e *exam) one(x kapi.Context, kind string, c *code, q *question, tell func(format string, a ...any)) {
	if !e.ftrace && q.throughFtrace() {
		e.without++
		return
	}
	var errnos [2]uint64
	for i := range q.want {
		p := e.users.list[i]
		p.Addr = c.at + arch.Addr(q.offset+i*q.d)
		p.Disabled = kind == "disabled"
		p.Handlers = 1 << kpev.Pre
		if kind == "post" || kind == "twoprepost" && i == 1 {
			p.Handlers |= 1 << kpev.Post
		}
		errnos[i] = e.Do(x, kpev.Register, i)
	}
	e.Wait(x)
	right := true
	for i, want := range q.want {
		got := e.look(x, i, errnos[i], len(want.copied))
		if !agrees(got, want, e.away) {
			right = false
			if e.wrong < 4 {
				n := max(0, min(q.offset+i*q.d, len(c.bytes)))
				tell("%s+%d, probe %d, % x:\n got %+v,\nwant %+v", q.function, q.offset, i,
					c.bytes[n:min(n+15, len(c.bytes))], got, want)
			}
		}
	}
	for i := range q.want {
		if errnos[i] == 0 {
			e.Do(x, kpev.Unregister, i)
		}
	}
	e.Wait(x)
	if right {
		e.agree++
	} else {
		e.wrong++
	}
}

// look says what the kernel has made of a probe.
func (e *exam) look(x kapi.Context, i int, errno uint64, n int) (v verdict) {
	if errno != 0 {
		v.errno = -int(errno)
		return v
	}
	f, p := &e.k.fields, e.users.list[i]
	at := arch.Addr(get(x, p.at, f.kprobe.addr))
	ap := arch.Addr(e.call(x, e.k.at("get_kprobe"), uint64(at)))
	v.delta, v.aggr = int(at)-int(p.Addr), ap != p.at
	flags := get(x, ap, f.kprobe.flags)
	v.opt, v.ftrace = flags&flagOptimized != 0, flags&flagFtrace != 0
	v.off = get(x, p.at, f.kprobe.flags)&flagDisabled != 0
	v.isize, v.emul = int(get(x, ap, e.isize)), get(x, ap, e.emul) != 0
	b, _ := x.Memory().Load(at, 1)
	v.first = byte(b)
	if v.slot = arch.Addr(get(x, ap, f.kprobe.insn)); v.slot != 0 {
		v.copied = make([]byte, n)
		e.read(x, v.slot, v.copied)
	}
	return v
}

// agrees compares a verdict with the recorded one. A RIP-relative operand leads to the
// same place from another slot.
func agrees(got, want verdict, away arch.Addr) bool {
	if got.errno == -einval && want.errno == 0 {
		return outOfReach(want, away) // one row
	}
	if got.errno != want.errno || got.errno != 0 {
		return got.errno == want.errno
	}
	same := sameCopy(got, want, away)
	got.slot, want.slot, got.copied, want.copied = 0, 0, nil, nil
	return same && got.delta == want.delta && got.isize == want.isize && got.opt == want.opt && got.emul == want.emul &&
		got.aggr == want.aggr && got.ftrace == want.ftrace && got.off == want.off && got.first == want.first
}

// outOfReach reports whether what an instruction reads, which the real kernel's slot
// could just reach, is too far from where slots are here.
func outOfReach(want verdict, away arch.Addr) bool {
	for i := 0; i+4 <= len(want.copied); i++ {
		d := int64(int32(binary.LittleEndian.Uint32(want.copied[i:]))) + int64(want.slot+away-smp.ExecBase)
		if d != int64(int32(d)) {
			return true
		}
	}
	return false
}

// sameCopy compares the copies of an instruction. What follows one that is boosted is a jump, which leads to the same
// place, too.
func sameCopy(got, want verdict, away arch.Addr) bool {
	moved := bytes.Clone(want.copied)
	by := uint32(want.slot + away - got.slot)
	move := func(i int, by uint32) {
		binary.LittleEndian.PutUint32(moved[i:], binary.LittleEndian.Uint32(moved[i:])+by)
	}
	same := bytes.Equal(got.copied, moved)
	for i := 0; i+4 <= len(moved) && !same; i++ {
		move(i, by)
		same = bytes.Equal(got.copied, moved)
		for j := i + 4; j+4 <= len(moved) && !same; j++ {
			move(j, by)
			same = bytes.Equal(got.copied, moved)
			move(j, -by)
		}
		move(i, -by)
	}
	return same
}
