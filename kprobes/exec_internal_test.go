package kprobes

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// The rows of testdata/*/exec_asm and exec_c are what two real kernels did: functions were
// called with four argument tuples, without a probe and with one, at every byte
// offset. Here the machine executes the same bytes at the same addresses, all of
// them in one text: calls of x_helper arrive.
//
// Of the flags IF and DF are compared; the others at the entry were the caller's.

// execArgs are the tuples by arg0, the only one in the rows: rdi, rsi, rdx.
// x_adj_d returns its rsi. x_3byte, rdi*(rdi+rsi-rdx), gives rdx but for the
// tuple of 0, and that is from the same kernels' x_c_add: 3*rdx+rdi+2*rsi = 41.
// The fourth argument is not known, so that a result may not depend on it.
var execArgs = map[uint64][3]uint64{5: {5, 3, 2}, 0: {0, 7, 9}, 12: {12, 0, 4}, 3: {3, 3, 3}}

// Why a function is left out.
const (
	ofData   = "it accesses data that the rows don't tell"
	ofPerCPU = "it reads through gs"
	ofAlias  = "it is a second name, of which there are no bytes"
	ofCall   = "it calls what there are no bytes of"
	ofSite   = "a site is in it, which the bytes don't tell"
	ofFtrace = "the probe goes through ftrace"
)

var notExecuted = map[string]string{
	"x_rip_load": ofData, "x_rip_lea": ofData, "x_rip_store": ofData, "x_rip_cmp_imm8": ofData,
	"x_rep_stosb": ofData, "x_rep_movsb": ofData, "x_movs_scas": ofData,
	"x_pushes": ofData, "x_lock": ofData, "x_xlat": ofData,
	"x_gs":      ofPerCPU,
	"x_alias_b": ofAlias,

	"x_c_atomic": ofData, "x_c_nofault": ofData, "x_c_mem": ofData,
	"x_c_bigframe": ofPerCPU, "x_c_percpu": ofPerCPU, "x_c_cpuid": ofPerCPU, "x_c_str": ofPerCPU,
	"x_c_lock": ofCall, "x_c_indirect": ofCall, "x_c_sleep": ofCall,
	"x_c_static_false": ofSite, "x_c_static_false_nt": ofSite, "x_c_static_mid": ofSite, "x_c_static_true": ofSite,
	"x_c_static_call": ofSite, "x_c_warn": ofSite, "x_c_warn_nt": ofSite, "x_c_bug": ofSite,
}

// kernelsLoops are probes on loop and loopne. The kernel emulates them, and
// tests the counter before it is decremented: one hit too many. Here the
// processor does them.
var kernelsLoops = map[string]bool{"x_loop_in+10": true, "x_loop_all+12": true, "x_loop_all+26": true}

// An execCall is what one call showed. What follows missed is of the first hit.
type execCall struct {
	unprobed, probed  uint64
	pre, post, missed int
	preOff, postOff   int  // ip, counted from the function's start; -1: no hit
	toCaller          bool // the post_handler's ip is where the call returns to
	spDelta           int  // the post_handler's sp less the pre_handler's

	preFlags, postFlags uint64 // IF and DF
}

const execFlags = x86.IF | x86.DF

// An execRow is one call.
type execRow struct {
	arg  uint64
	want execCall
}

// An execGroup is the rows of one probe.
type execGroup struct {
	function, mode string
	offset, errno  int
	opt, emul      bool
	ftrace         bool
	rows           []execRow
}

func (g *execGroup) at() string { return g.function + "+" + strconv.Itoa(g.offset) }

// An execCount counts rows.
type execCount struct {
	calls, refused, loops int // as the rows say; the same errno; explained by kernelsLoops
	left                  map[string]int
}

// readExec reads the rows. They all return to one place: where the
// post_handler on x_ret1's ret saw it go.
func readExec(t *testing.T, kernel, kind string) (groups []*execGroup) {
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		return n
	}
	flags := func(s string) uint64 {
		f, err := strconv.ParseUint(s, 16, 64)
		require.NoError(t, err)
		return f & execFlags
	}
	all := readOracle(t, "../../testdata/"+kernel, kind)
	caller := ""
	for _, r := range readOracle(t, "../../testdata/"+kernel, "exec_asm") {
		if r[0] == "x_ret1" && r[1] == "0" && r[2] == "post" {
			caller = r[16]
		}
	}
	require.NotEmpty(t, caller)
	var g *execGroup
	for _, r := range all {
		if n := number(r[1]); g == nil || g.function != r[0] || g.offset != n || g.mode != r[2] {
			g = &execGroup{function: r[0], mode: r[2], offset: n, errno: number(r[3]), opt: r[4] == "1", emul: r[7] == "1", ftrace: r[5] == "1"}
			groups = append(groups, g)
		}
		if g.errno != 0 {
			g.rows = append(g.rows, execRow{})
			continue
		}
		g.rows = append(g.rows, execRow{arg: uint64(number(r[8])), want: execCall{
			unprobed: uint64(number(r[9])), probed: uint64(number(r[10])),
			pre: number(r[11]), post: number(r[12]), missed: number(r[13]),
			preOff: number(r[14]), postOff: number(r[15]), toCaller: r[16] == caller, spDelta: number(r[19]),
			preFlags: flags(r[17]), postFlags: flags(r[18]),
		}})
	}
	return groups
}

// callExec calls a function as it was called there: through rax, which is what
// x_ret1 returns.
func callExec(x *smp.Ctx, f arch.Addr, arg, fourth uint64) uint64 {
	r, a := x.Regs(), execArgs[arg]
	r.R[x86.RAX], r.R[x86.RDI], r.R[x86.RSI], r.R[x86.RDX], r.R[x86.RCX] = uint64(f), a[0], a[1], a[2], fourth
	return x.Call(f)
}

// execute makes the calls of a group without its probe and with it.
func (b *bench) execute(t *testing.T, x *smp.Ctx, f arch.Addr, g *execGroup, n *execCount) {
	var got execCall
	var sp uint64
	gate := arch.Addr(x.Regs().R[x86.RSP]&^15 - 8) // where a call leaves its return address
	k := &Kprobe{Addr: f + arch.Addr(g.offset), Pre: func(_ kapi.Context, _ *Kprobe, r *arch.Regs) int {
		if got.pre++; got.pre == 1 {
			got.preOff, got.preFlags, sp = int(r.IP-f), r.Flags&execFlags, r.R[x86.RSP]
		}
		require.Less(t, got.pre, 100, "%s %s: it doesn't end", g.at(), g.mode)
		return 0
	}}
	if g.mode == "post" {
		k.Post = func(_ kapi.Context, _ *Kprobe, r *arch.Regs, _ uint64) {
			if got.post++; got.post == 1 {
				to, ok := x.Memory().Load(gate, 8)
				require.True(t, ok)
				got.postOff, got.toCaller, got.spDelta = int(r.IP-f), r.IP == arch.Addr(to), int(r.R[x86.RSP]-sp)
				got.postFlags = r.Flags & execFlags
			}
		}
	}
	unprobed := make([]uint64, len(g.rows))
	for i, r := range g.rows {
		if g.errno == 0 {
			unprobed[i] = callExec(x, f, r.arg, 1)
			require.Equal(t, unprobed[i], callExec(x, f, r.arg, 6), "%s: the fourth argument matters", g.at())
		}
	}
	err := b.e.Register(x, k)
	if g.errno != 0 {
		require.Equal(t, Errno(-g.errno), err, "%s %s", g.at(), g.mode)
		n.refused += len(g.rows)
		return
	}
	require.NoError(t, err, "%s %s", g.at(), g.mode)
	if g.mode == "opt" {
		b.e.Optimizer.WaitOptimizer(x)
	}
	require.Equal(t, g.opt, k.aggr.optimized.Peek(), "%s %s", g.at(), g.mode)
	require.Equal(t, g.emul, k.aggr.verdict.Emulated, "%s %s", g.at(), g.mode)
	for i, r := range g.rows {
		got = execCall{preOff: -1, postOff: -1, unprobed: unprobed[i]}
		got.probed = callExec(x, f, r.arg, 0)
		got.missed = k.Missed()
		want := r.want
		if want.toCaller {
			want.postOff = got.postOff // the caller is somewhere else here
		}
		if g.function == "x_rip_self" && g.mode == "opt" {
			// It returns its first bytes: a jump, to a detour that lies elsewhere.
			want.probed, got.probed = want.probed&0xff, got.probed&0xff
		}
		if kernelsLoops[g.at()] {
			want.pre--
			if want.post > 0 {
				want.post--
			}
			if want.post == 1 {
				want.postOff = g.offset + 2 // the only hit ends the loop
			}
			n.loops++
		} else {
			n.calls++
		}
		require.Equal(t, want, got, "%s %s, arg %d", g.at(), g.mode, r.arg)
		require.Equal(t, g.mode == "opt", k.aggr.jumped, "%s %s: hit in another mode", g.at(), g.mode)
	}
	require.NoError(t, b.e.Unregister(x, k))
	b.e.Optimizer.WaitOptimizer(x)
}

// TestExecOracle calls the functions of the rows, and compares what they
// returned and what the handlers saw (spec 1.2, 1.4, 1.11, 4.10).
func TestExecOracle(t *testing.T) {
	for _, kernel := range []struct {
		name string
		kind string
		k    rules.Kernel
		want execCount
	}{
		{"k61", "exec_c", rules.K61, execCount{1264, 406, 0, map[string]int{ofData: 591, ofPerCPU: 1356, ofCall: 426, ofSite: 1073, ofFtrace: 200}}},
		{"k612", "exec_c", rules.K612, execCount{1312, 472, 0, map[string]int{ofData: 694, ofPerCPU: 1498, ofCall: 408, ofSite: 1162, ofFtrace: 400}}},
		{"k61", "exec_asm", rules.K61, execCount{5396, 1141, 24, map[string]int{ofData: 1094, ofPerCPU: 90, ofAlias: 48}}},
		{"k612", "exec_asm", rules.K612, execCount{5436, 1141, 24, map[string]int{ofData: 1102, ofPerCPU: 90, ofAlias: 48}}},
	} {
		t.Run(kernel.name+" "+kernel.kind, func(t *testing.T) {
			codes, at := oracleCodes(t, kernel.name, "hand")
			groups := readExec(t, kernel.name, kernel.kind)
			s := repaired
			s.Kernel = kernel.k
			n := execCount{left: make(map[string]int)}
			b := newBench(t, s, codes, func(b *bench, x *smp.Ctx) {
				for _, g := range groups {
					why := notExecuted[g.function]
					if g.ftrace {
						why = ofFtrace
					}
					if why != "" {
						n.left[why] += len(g.rows)
						continue
					}
					require.NotZero(t, at[g.function], g.function)
					b.execute(t, x, at[g.function], g, &n)
				}
			})
			require.Equal(t, smp.Passed, b.run(new(sched.Default)), "%v", b.m.Refusal())
			require.Equal(t, kernel.want, n)
		})
	}
}
