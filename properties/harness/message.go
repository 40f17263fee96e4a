package harness

import (
	"fmt"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/smp/arch"
	"kpsim/traces"
)

// readable puts names in place of the addresses, tasks and locks of a message.
func (r *Rig) readable(message string) string {
	return traces.Readable(message, r.Machine.Names().SymbolName, func(id uint64) string {
		if tasks := r.Machine.Tasks(); id < uint64(len(tasks)) {
			return tasks[id].Name
		}
		return fmt.Sprintf("task%d", id)
	}, r.Kernel.Locks.Name)
}

// message is what a run has found, in words.
func (r *Rig) message(run *Run) string { return r.readable(run.Finding.Message) + r.reason(run) }

// reason ends the message of a run in which register has answered what the scenario
// doesn't say: with what the rules have against the probe. "": nothing.
func (r *Rig) reason(run *Run) string {
	if run.Property != &properties.RightResult || run.Finding.Place == 0 {
		return ""
	}
	errno, why := r.Scenario.Refusal(arch.Addr(run.Finding.Place))
	if errno == 0 || !strings.Contains(run.Finding.Message, " gets "+kpev.Errno(errno)+" ") {
		return ""
	}
	return "; it was refused: " + why
}
