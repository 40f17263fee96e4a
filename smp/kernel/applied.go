package kernel

import (
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Alternatives are instructions in whose place others are put once, while the kernel boots
// (apply_alternatives). They are copied over with interrupts off, and nothing else keeps
// others from running them meanwhile (text_poke_early): it is for a time when there is one
// CPU, and no NMI comes. Nothing is asked about who else may have written there.
type Alternatives struct {
	k    *Kernel       // set at boot
	list []alternative // set at boot
	done bool          // owned by text_mutex: they stand there
	// Open and Unsynced are faults of text_poke_early: interrupts stay on while it copies
	// (before 2dc419613805), or are on again before the CPU serialises (before 3ea1704a9296).
	Open, Unsynced bool // owned by the boot of a run
}

// An alternative is one instruction.
type alternative struct {
	at   arch.Addr
	insn []byte
}

func (a *Alternatives) init(k *Kernel) { a.k = k }

func (a *Alternatives) reset() { a.done, a.Open, a.Unsynced = false, false, false }

// Add adds an instruction that is to stand at an address, at boot.
func (a *Alternatives) Add(at arch.Addr, insn []byte) {
	a.list = append(a.list, alternative{at, slices.Clone(insn)})
}

// Apply puts all there, in the order in which they were added, the first time that it is
// called. Context: may sleep; takes text_mutex.
func (a *Alternatives) Apply(x kapi.Context) {
	a.k.Text.mutex.Lock(x)
	if !a.done {
		a.done = true
		for i := range a.list {
			a.early(x, &a.list[i])
		}
	}
	a.k.Text.mutex.Unlock(x)
}

// early is text_poke_early. Context: text_mutex held.
func (a *Alternatives) early(x kapi.Context, to *alternative) {
	on := x.IRQ(a.Open)
	a.k.Text.Write(x, to.at, to.insn)
	if a.Unsynced {
		x.IRQ(on)
		x.Step("text_poke_early", 1)
	}
	a.k.Sync.Self(x, smpev.SyncSelf)
	x.IRQ(on)
}
