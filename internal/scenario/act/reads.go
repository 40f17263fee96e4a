package act

import (
	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/kprobes/kpev"
	"kpsim/smp"
)

// Reads of the kernel's files and of a probe's count, while others work. Property reads-true judges what they find.
var (
	ReadList = add(row{family: probes, Operation: &scenario.Operation{
		Word: "read_list",
		Says: "read kprobes/list of debugfs, as a kernel's reader does: one chain of the hash table after the other, " +
			"so that what others change meanwhile may be in it or not",
		Kernel:  []string{"show_kprobe_addr", "kprobe_seq_start", "kprobe_seq_next"},
		What:    "reader of kprobes/list",
		Of:      reads,
		Object:  scenario.Nothing,
		Traits:  scenario.Probes,
		Touches: scenario.TouchRead,
		Drawn:   scenario.Drawn{Nth: 14, Times: 1},
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) {
		reading(t, x, kpev.ReadList, func(r engine.Reader) (lines uint64) {
			r.ReadList(x, func(addr, letter, tags uint64) {
				x.Emit(kpev.ReadLine, addr, letter, tags)
				lines++
			})
			return lines
		})
	}})

	ReadEnabled = readsSwitch("read_enabled", "read kprobes/enabled of debugfs, which takes no lock",
		kpev.ReadEnabled, engine.Armed, "read_enabled_file_bool", "", 15)

	ReadOptimization = readsSwitch("read_optimization",
		"read the sysctl debug.kprobes-optimization, which waits for a write that is under way",
		kpev.ReadOptimization, engine.Optimization, "proc_dointvec_minmax", "optprobes", 17)

	ReadMissed = add(row{family: probes, Operation: &scenario.Operation{
		Word:   "read_missed",
		Params: []scenario.Param{{Name: "k", Of: scenario.TheProbes}},
		Says: "read a probe's `nmissed`: how many hits ran no handler of it since it was registered or, of a " +
			"return probe, how many calls found no instance",
		Kernel:  []string{"nmissed"},
		What:    "nmissed to read",
		Of:      reads,
		Step:    scenario.StepReadMissed,
		Object:  scenario.Nothing,
		Traits:  scenario.Probes,
		Touches: scenario.TouchRead,
		Drawn:   scenario.Drawn{Nth: 16, Times: 1},
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) { t.ReadMissed(x, op.Target) }})
)

// reads says that an engine's files can be read while it works.
func reads(r *engine.Row) bool { return r.Reads }

func readsSwitch(word, says string, what uint64, s engine.Switch, kernel, setting string,
	nth int) *scenario.Operation {
	return add(row{family: probes, Operation: &scenario.Operation{
		Word:    word,
		Says:    says,
		Kernel:  []string{kernel},
		Setting: setting,
		What:    word + "()",
		Of:      reads,
		Object:  scenario.Nothing,
		Traits:  scenario.Probes,
		Touches: scenario.TouchRead,
		Drawn:   scenario.Drawn{Nth: nth, Times: 1},
	}, do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) {
		reading(t, x, what, func(r engine.Reader) uint64 {
			if r.ReadSwitch(x, s) {
				return 1
			}
			return 0
		})
	}})
}

// reading reads something of the engine's, and reports it.
func reading(t Task, x *smp.Ctx, what uint64, read func(r engine.Reader) uint64) {
	x.Agrees() // with what returned before: monitors order by time
	x.Emit(kpev.Reading, what, 0, 0)
	x.Emit(kpev.ReadEnd, what, 0, read(t.Engine().(engine.Reader)))
}
