package rig

import (
	"fmt"
	"strings"

	"kpsim/internal/scenario/vet"
	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/smp/arch"
	"kpsim/traces"
)

// Readable puts names in place of the addresses, tasks and locks of a message.
func (r *Rig) Readable(message string) string {
	return traces.Readable(message, r.Machine.Names().SymbolName, func(id uint64) string {
		if tasks := r.Machine.Tasks(); id < uint64(len(tasks)) {
			return tasks[id].Name
		}
		return fmt.Sprintf("task%d", id)
	}, r.Kernel.Locks.Name)
}

// Message is what a run has found, in words.
func (r *Rig) Message(run *Run) string { return r.Readable(run.Finding.Message) + r.Reason(run) }

// Reason ends the message of a run in which register has answered what the scenario
// doesn't say: with what the rules have against the probe. "": nothing.
func (r *Rig) Reason(run *Run) string {
	if run.Property != &properties.RightResult || run.Finding.Place == 0 {
		return ""
	}
	errno, why := vet.Refusal(r.Scenario, arch.Addr(run.Finding.Place))
	if errno == 0 || !strings.Contains(run.Finding.Message, " gets "+kpev.Errno(errno)+" ") {
		return ""
	}
	return "; it was refused: " + why
}
