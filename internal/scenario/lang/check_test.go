package lang_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
)

// What a program can't say, Go can: Check refuses it, and Print prints it all
// the same.
func TestCheckGo(t *testing.T) {
	type S = scenario.Scenario
	for _, c := range []struct {
		want string
		do   func(*S)
	}{
		{"", func(*S) {}},
		{`preempt = 9 isn't known; it is one of "none", "voluntary", "dynamic", "full", "lazy"`,
			func(s *S) { s.Machine.Preempt = 9 }},
		{`needs = 2 isn't known; it is one of "nothing", "interrupt"`, func(s *S) { s.Needs = 2 }},
		{`cpus = 0 is out of range; a machine has 1 to 64`, func(s *S) { s.Machine = scenario.Machine{} }},
		{`name "a\xff" of a task isn't printable text of 1 to 200 bytes; give another`,
			func(s *S) { s.Tasks[0].Name = "a\xff" }},
		{`function "big" has 65537 bytes; at most 65536`,
			func(s *S) {
				s.Texts = append(s.Texts, scenario.Text{Name: "big", At: 0x10000, Code: make([]byte, 1<<16+1)})
			}},
		{`probe "k": no function "vitcim"; did you mean "victim"?`, func(s *S) { s.Probes[0].Func = "vitcim" }},
		{`probe "k" pre[0]: it is no step; it is one of "count", "set_reg", "set_ip", "call", "nonzero", "store", "save", "restore", "sleep", "register", "unregister", "enable", "disable", "read_missed", "read_context"`,
			func(s *S) { s.Probes[0].Pre[0].Kind = nil }},
		{`probe "k" pre[0]: count() has fields it doesn't use; leave them zero`,
			func(s *S) { s.Probes[0].Pre[0].Value = 1 }},
		{`probe "k" pre[0]: register 16 isn't known; it is one of "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"`,
			func(s *S) { s.Probes[0].Pre[0] = scenario.Step{Kind: scenario.StepSetReg, Reg: 16} }},
		{`probe "k" post[0]: offset 18446744073709551615 is outside victim; set_ip takes a place in a function`,
			func(s *S) {
				s.Probes[0].Post = []scenario.Step{{Kind: scenario.StepSetIP, Target: "victim", Value: 1<<64 - 1}}
			}},
		{`probe "k" post[0]: no function ""; there is "victim"`,
			func(s *S) { s.Probes[0].Post = []scenario.Step{{Kind: scenario.StepCall}} }},
		{`task "prober" ops[0]: no probe "q"; there is "k"`, func(s *S) { s.Tasks[0].Ops[0].Target = "q" }},
		{`task "prober" ops[0]: no label "k"; there is none`,
			func(s *S) { s.Tasks[0].Ops[0].Kind = act.EnableLabel }},
		{`task "prober" ops[0]: user has no target; leave "k" out`,
			func(s *S) { s.Tasks[0].Ops[0].Kind = act.User }},
		{`task "prober" ops[0]: register takes no arguments of a call; leave them out`,
			func(s *S) { s.Tasks[0].Ops[0].Changed = true }},
		{`task "prober" ops[0]: online(1, fails = "cpu:teardown"): it is one of "sched:active", "workqueue:online", "cpu:bringup"`,
			func(s *S) {
				s.Tasks[0].Ops[0] = scenario.Op{Kind: act.Online, CPU: 1, Fails: smpev.CPUStepTeardown}
			}},
		{`task "prober" ops[0]: offline(1, fails = "step 9"): it is one of "sched:active", "workqueue:online", "cpu:teardown"`,
			func(s *S) { s.Tasks[0].Ops[0] = scenario.Op{Kind: act.Offline, CPU: 1, Fails: 9} }},
		{`task "prober" ops[0]: it is no operation; give it a Kind of package act`,
			func(s *S) { s.Tasks[0].Ops[0].Kind = nil }},
		{`task "prober" ops[0]: register takes no arguments of a call; leave them out`,
			func(s *S) { s.Tasks[0].Ops[0].Bits = 16 }},
		{`task "prober" ops[0]: errno 5 isn't one that register returns; leave it out`,
			func(s *S) { s.Tasks[0].Ops[0].Checked, s.Tasks[0].Ops[0].Returns = true, 5 }},
		{`task "prober" ops[0]: errno 22 isn't one that register returns; leave it out`,
			func(s *S) { s.Tasks[0].Ops[0].Returns = 22 }},
		{`task "prober" ops[0]: a result that isn't checked; leave it zero`,
			func(s *S) {
				s.Tasks[0].Ops[0] = scenario.Op{Kind: act.Call, Target: "victim", Returns: 5}
			}},
		{`task "prober" ops[0]: 0x100 isn't a result of 8 bits; give bits = 64, or what fits`,
			func(s *S) {
				s.Tasks[0].Ops[0] = scenario.Op{Kind: act.Call, Target: "victim", Checked: true, Returns: 256, Bits: 8}
			}},
		{`task "prober" ops[0]: no data "d"; there is none`,
			func(s *S) { s.Tasks[0].Ops[0] = scenario.Op{Kind: act.Expect, Target: "d", Bytes: []byte{1}} }},
		{`task "prober" ops[0]: optimization has no target; leave "k" out`,
			func(s *S) { s.Tasks[0].Ops[0].Kind = act.Optimization }},
		{`missing symbol "m" at 0xffffffff81ff0010 with 4096 bytes doesn't take whole pages, in which nothing else lies; give multiples of 4096`,
			func(s *S) {
				s.Missing = []scenario.Missing{{Name: "m", At: 0xffffffff81ff0010, Size: 4096}}
			}},
		{`missing symbol "m" at 0xffffffff81000000 to 0xffffffff81000fff overlaps function "victim" at 0xffffffff81000000 to 0xffffffff81000035; leave at out, or move it`,
			func(s *S) { s.Missing = []scenario.Missing{{Name: "m", At: scenario.TextBase, Size: 4096}} }},
		{`missing symbol "victim" is there twice; give one another name`,
			func(s *S) {
				s.Missing = []scenario.Missing{{Name: "victim", At: 0xffffffff81ff0000, Size: 4096}}
			}},
		{`it is no source; it is one of "timer", "nmi", "preempt"`, func(s *S) { s.Sources[0].Kind = nil }},
		{`preempt() runs no function; use timer() or nmi()`, func(s *S) {
			s.Sources[0] = scenario.Source{Kind: scenario.SourcePreempt, AtMost: 1, Run: "victim"}
		}},
		{`preempt() finds no task to preempt on an idle CPU; use timer(idle = True)`, func(s *S) {
			s.Sources[0] = scenario.Source{Kind: scenario.SourcePreempt, AtMost: 1, Idle: true}
		}},
		{`nmi() can't turn interrupts on; use timer(opens = True)`, func(s *S) {
			s.Sources[0] = scenario.Source{Kind: scenario.SourceNMI, AtMost: 1, Opens: true}
		}},
		{`never() names no property; it means all of them`, func(s *S) { s.Expect = scenario.Expect{Property: "T1"} }},
		{`sometimes() has no canary; that is for never()`, func(s *S) {
			s.Expect = scenario.Expect{Sometimes: true, Property: "T1", Canary: "no-sync-1"}
		}},
		{`percpu "v" can't lie at 0x2000; leave at out, or choose an address from 0xffffffff80000000 upward`,
			func(s *S) {
				s.Datas = []scenario.Data{{Name: "v", At: 0x2000, Bytes: []byte{1}, PerCPU: true}}
			}},
		{`data "d" at 0xffff888100000000 to 0xffff888100000000 overlaps per-CPU memory at 0xffff888080000000 to 0xffff88c000000fff; leave at out, or move it`, func(s *S) {
			s.Datas = []scenario.Data{{Name: "d", At: 0xffff888100000000, Bytes: []byte{1}}}
		}},
		{`all data up to "b" take 4718592 bytes; at most 4194304`, func(s *S) {
			s.Machine.CPUs = 8
			s.Datas = []scenario.Data{
				{Name: "a", At: scenario.DataBase, Bytes: make([]byte, 1<<19)},
				{Name: "b", At: scenario.DataBase + 1<<20, Bytes: make([]byte, 1<<19), PerCPU: true},
			}
		}},
		{`the scenario prints as more than 1048576 bytes; leave out functions that nothing runs`, func(s *S) {
			for i := range 2 {
				s.Datas = append(s.Datas, scenario.Data{Name: strings.Repeat("d", i+1),
					At: scenario.DataBase + arch.Addr(i)<<20, Bytes: bytes.Repeat([]byte{1}, 1<<18)})
			}
		}},
	} {
		s, err := library.Load("second-instruction")
		require.NoError(t, err)
		c.do(s)
		_ = lang.Print(s)
		if err := lang.Check(s); c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want, c.want)
		}
	}
}
