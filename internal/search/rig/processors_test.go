package rig_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/smp"
)

// The objects are gcc's of elsewhere.c, with -O2 -fno-pic and -march=rv64imac -mabi=lp64 -mcmodel=medany, or
// -mgeneral-regs-only or -mno-pcrel, and -fno-asynchronous-unwind-tables.

// Objects of other processors run, with functions that the language makes, data, and a compiled patcher. The scenario
// prints as one that runs alike.
func TestElsewhere(t *testing.T) {
	for _, c := range []struct{ arch, f, nop, two string }{
		{"riscv64", "00000013 4505 8082", "0x00000013", "0x00150513"}, // nop; li a0,1; ret. addi a0,a0,1
		{"arm64", "d503201f 52800020 d65f03c0", "0xd503201f", "0x11000400"},
		{"ppc64le", "60000000 38600001 4e800020", "0x60000000", "0x38630001"},
	} {
		t.Run(c.arch, func(t *testing.T) {
			src := fmt.Sprintf(`machine(cpus = 2, arch = %q, preempt = "full")
stub("helper", returns = 0x1234567890abcd00)
f = text("f", %q, at = 0xffffffff81100000)
w = alias("w", f)
o = elf("../../scenario/testdata/elsewhere_%s.o")
fill = stub("fill", fill = (1, "0102030405060708 0a0b"), returns = 7)
d = data("d", size = 16)
task("a", cpu = 0, ops = [
    call(o.sum, 3, returns = 6),
    call(o.uses, 3, returns = 0x1234567890abcd06),
    call(fill, d, returns = 7),
    expect(d, "0102030405060708 0a0b"),
    call(o.patch, w, %s),
    sync_core(),
    call(o.patch, w, %s),
])
task("b", cpu = 1, ops = [call(o.sum, 4, returns = 10), call(f, returns = 1, changed = True)])
timer(cpu = 0)
never()
`, c.arch, c.f, c.arch, c.two, c.nop)
			sc, err := lang.Load("elsewhere.star", []byte(src), os.ReadFile)
			require.NoError(t, err)
			again, err := lang.Load("again.star", []byte(lang.Print(sc)), nil)
			require.NoError(t, err)
			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			s, err := rig.New(again, "")
			require.NoError(t, err)
			defer s.Close()
			random := sched.NewRandom(sched.Params{Length: 300, Mean: 6})
			for i := range uint64(100) {
				random.Begin(i)
				run := r.Run(random)
				require.Equal(t, smp.Passed, run.Outcome, "run %d: %+v", i, run)
				random.Begin(i)
				require.Equal(t, run.Digest, s.Run(random).Digest, "run %d", i)
			}
		})
	}
}

// A CPU that sees the flag takes a breakpoint's trap, and then runs the text that was written before the flag. The
// trap is enough where an exception, or the return from one, synchronises the context. On RISC-V neither does.
func TestTrapsSerialise(t *testing.T) {
	for _, c := range []struct {
		arch, f, reader, setter, now string
		trap                         int // offset of the breakpoint
		stale                        bool
	}{
		{arch: "arm64", f: "52800000 d65f03c0", now: "52800020", setter: "52800021 b9000001 d65f03c0", trap: 8,
			reader: "aa1e03ea b9400009 d4200000 97fffff9 6b09001f 1a9f37e0 d65f0140"},
		{arch: "ppc64le", f: "38600000 4e800020", now: "38600001", setter: "38800001 90830000 4e800020", trap: 8,
			reader: "7d4802a6 81230000 7fe00008 4bffffe5 7c034840 38a00000 38600001 7c65181e 7d4803a6 4e800020"},
		{arch: "riscv64", f: "4501 8082", now: "4505", setter: "4585 c10c 8082", trap: 4, stale: true,
			reader: "8386 410c 00100073 fe9ff0ef 809e 00b53533 00154513 8082"},
	} {
		t.Run(c.arch, func(t *testing.T) {
			src := fmt.Sprintf(`machine(cpus = 2, arch = %q, fetch = "stale")
f = text("f", %q, at = 0xffffffff81000000)
reader = text("reader", %q, at = 0xffffffff81000010)
setter = text("setter", %q)
flag = data("flag", size = 4)
task("writer", cpu = 0, ops = [write(f, %q), call(setter, flag)])
task("reader", cpu = 1, ops = [
    on_breakpoint(reader + %d, goto = reader + %d),
    call(reader, flag, returns = 1, changed = True),
    call(reader, flag, returns = 1, changed = True),
])
never()
`, c.arch, c.f, c.reader, c.setter, c.now, c.trap, c.trap+4)
			sc, err := lang.Load("trap.star", []byte(src), nil)
			require.NoError(t, err)
			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			random := sched.NewRandom(sched.Params{Length: 60, Mean: 6})
			wrong := 0
			for i := range uint64(500) {
				random.Begin(i)
				if run := r.Run(random); run.Outcome != smp.Passed {
					require.Equal(t, "X2", run.Property.ID, "run %d: %+v", i, run)
					wrong++
				}
			}
			require.Equal(t, c.stale, wrong > 0, "%d of 500 runs", wrong)
		})
	}
}

// Two CPUs count up by a load that reserves and a store on that condition, under a timer. No count is lost, also if
// the other CPU stores in between. Where reservations are kept too long one is.
func TestReservations(t *testing.T) {
	for arch, inc := range map[string]string{
		"riscv64": "100525af 00158593 18b5262f fe061ae3 00008067", // lr.w; addi; sc.w; bnez; ret
		"arm64":   "885f7c01 11000421 88027c01 35ffffa2 d65f03c0", // ldxr; add; stxr; cbnz; ret
		"ppc64le": "7c801828 38840001 7c80192d 40c2fff4 4e800020", // lwarx; addi; stwcx.; bne; blr
	} {
		t.Run(arch, func(t *testing.T) {
			src := fmt.Sprintf(`machine(cpus = 2, arch = %q, preempt = "full")
inc = text("inc", %q)
n = data("n", size = 4)
for cpu in (0, 1):
    task("t%%d" %% cpu, cpu = cpu, ops = [call(inc, n, changed = True), call(inc, n, changed = True)])
    timer(cpu = cpu)
never()
`, arch, inc)
			sc, err := lang.Load("inc.star", []byte(src), nil)
			require.NoError(t, err)
			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			random := sched.NewRandom(sched.Params{Length: 60, Mean: 3})
			for i := range uint64(500) {
				random.Begin(i)
				require.Equal(t, smp.Passed, r.Run(random).Outcome, "run %d", i)
				got, ok := r.Machine.Memory().Load(sc.Datas[0].At, 4)
				require.True(t, ok)
				require.EqualValues(t, 4, got, "run %d", i)
			}
		})
	}
}

// An interrupt comes between the two, and its handler stores plainly, on the same CPU. The store on condition fails
// then.
func TestReservationsOfTraps(t *testing.T) {
	for arch, code := range map[string][2]string{
		// lui a0,0x83000; li a1,100; sw a1,0(a0); sw a1,4(a0); ret
		"riscv64": {"100525af 00158593 18b5262f fe061ae3 00008067", "83000537 06400593 00b52023 00b52223 00008067"},
		// movn x0,#0x7cff,lsl 16; movk x0,#0; mov w1,#100; str w1,[x0]; str w1,[x0,#4]; ret
		"arm64": {"885f7c01 11000421 88027c01 35ffffa2 d65f03c0",
			"92af9fe0 f2800000 52800c81 b9000001 b9000401 d65f03c0"},
		// lis r3,0x8300; li r4,100; stw r4,0(r3); stw r4,4(r3); blr
		"ppc64le": {"7c801828 38840001 7c80192d 40c2fff4 4e800020", "3c608300 38800064 90830000 90830004 4e800020"},
	} {
		t.Run(arch, func(t *testing.T) {
			src := fmt.Sprintf(`machine(cpus = 2, arch = %q, preempt = "full")
inc = text("inc", %q)
put = text("put", %q)
n = data("n", size = 8, at = 0xffffffff83000000)
task("t", cpu = 0, ops = [call(inc, n, changed = True)])
nmi(cpu = 0, run = put)
never()
`, arch, code[0], code[1])
			sc, err := lang.Load("put.star", []byte(src), nil)
			require.NoError(t, err)
			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			random := sched.NewRandom(sched.Params{Length: 40, Mean: 3})
			seen := make(map[[2]uint64]int)
			for i := range uint64(1000) {
				random.Begin(i)
				require.Equal(t, smp.Passed, r.Run(random).Outcome, "run %d", i)
				got, _ := r.Machine.Memory().Load(sc.Datas[0].At, 4)
				came, _ := r.Machine.Memory().Load(sc.Datas[0].At+4, 4)
				seen[[2]uint64{came, got}]++
			}
			// Without the interrupt; counted before it; counted after it, or in vain and once more.
			right := seen[[2]uint64{0, 1}] + seen[[2]uint64{100, 100}] + seen[[2]uint64{100, 101}]
			require.Equal(t, 1000, right, "%v", seen)
			require.NotZero(t, seen[[2]uint64{100, 101}])
		})
	}
}

// A function is patched by hand behind a breakpoint, whose handler tries again. What a breakpoint is, and how long, is
// the processor's. Where an instruction is fetched in two pieces, all CPUs have to serialise after each store.
func TestBreakpointByHand(t *testing.T) {
	for _, c := range []struct {
		arch, f, breaks, tail, head string
		at                          int
		torn                        bool
	}{
		// c.nop; nop; ret. c.ebreak, and li a0,1 in two halves
		{arch: "riscv64", f: "0001 00000013 8082", at: 2, breaks: "9002", tail: "0010", head: "0513", torn: true},
		// c.ebreak in the place of the nop as a whole
		{arch: "riscv64", f: "00000013 8082", breaks: "9002", tail: "0010", head: "0513"},
		{arch: "arm64", f: "52800000 52800001 d65f03c0", breaks: "d4200000", tail: "52800021", head: "52800020"},
		{arch: "ppc64le", f: "38600000 38800000 4e800020", breaks: "7fe00008", tail: "38800001", head: "38600001"},
	} {
		for _, sync := range []string{"", "sync_core()"} {
			t.Run(fmt.Sprintf("%s+%d %s", c.arch, c.at, sync), func(t *testing.T) {
				src := fmt.Sprintf(`machine(cpus = 2, arch = %q, fetch = "stale")
f = text("f", %q, at = 0xffffffff81000000)
sync = [%s]
task("writer", cpu = 0, ops = [on_breakpoint(f + %[4]d, retry = True), write(f + %[4]d, %[5]q)] + sync +
    [write(f + %[6]d, %[7]q)] + sync + [write(f + %[4]d, %[8]q)] + sync)
task("reader", cpu = 1, ops = [call(f, changed = True), call(f, changed = True)])
never()
`, c.arch, c.f, sync, c.at, c.breaks, c.at+len(c.breaks)/2, c.tail, c.head)
				sc, err := lang.Load("breaks.star", []byte(src), nil)
				require.NoError(t, err)
				r, err := rig.New(sc, "")
				require.NoError(t, err)
				defer r.Close()
				random := sched.NewRandom(sched.Params{Length: 60, Mean: 4})
				wrong := 0
				for i := range uint64(1000) {
					random.Begin(i)
					if run := r.Run(random); run.Outcome != smp.Passed {
						wrong++
					}
				}
				require.Equal(t, c.torn && sync == "", wrong > 0, "%d of 1000 runs", wrong)
			})
		}
	}
}
