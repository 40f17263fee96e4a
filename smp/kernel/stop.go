package kernel

import (
	"math/bits"

	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Stop is stop_machine. A stopper task on each CPU takes the CPU over when its current task schedules (under the
// model full: as soon as it can be preempted); so where tasks aren't preempted, every task is at a place where it
// gave up the CPU. NMIs still run. It doesn't serialise instruction fetch by itself: each CPU does so before it
// leaves.
type Stop struct {
	k    *Kernel
	Sync kapi.Sync `state:"boot"` // set at boot, wrapped by mutants
	// owned by the boot of a run: it takes the hotplug lock, which its callers have taken: a mutant
	Reads bool
	// owned by the boot of a run: the function runs before the other CPUs have stopped: a mutant
	Early bool
	mutex *Mutex // set at boot
	// owned by mutex
	f       func(x kapi.Context) `state:"skip: follows from what its caller has read, who waits until it is done"`
	state   kapi.Var[int]        // the protocol's step that all stoppers are to make
	who     int                  // owned by mutex: the CPU that runs the function, or everyCPU
	set     uint64               // owned by mutex: the CPUs that take part
	acks    kapi.Var[int]        // stoppers that haven't made it
	reached [5]kapi.Is[int]      `state:"boot"` // set at boot: the conditions that state is i
}

// The orders of stop_machine.
var (
	stopSteps = kapi.DefineBarrier("stop_machine: count before step", kapi.OrderWMB,
		"set_state, kernel/stop_machine.c: smp_wmb(), before WRITE_ONCE(msdata->state)")
	stopQueues = kapi.DefineBarrier("stop_machine: step before waking", kapi.OrderMB,
		"cpu_stop_queue_work, kernel/stop_machine.c: raw_spin_lock_irqsave(&stopper->lock), then wake_up_q: "+
			"smp_mb__after_spinlock() of try_to_wake_up")
	stopAcks = kapi.DefineBarrier("stop_machine: acknowledge", kapi.OrderFull,
		"ack_state, kernel/stop_machine.c: atomic_dec_and_test(&msdata->thread_ack)")
)

// The steps of the protocol.
const (
	stopPrepare = iota // be there
	stopDisable        // turn interrupts off
	stopRun            // one runs the function
	stopExit           // serialise, turn interrupts on, leave
	stopDone
)

func (s *Stop) init(k *Kernel) {
	s.k, s.Sync = k, &k.Sync
	s.mutex = k.Locks.mutex("stop_cpus_mutex")
	s.state.Init(&k.M.Cells, stopDone)
	s.acks.Init(&k.M.Cells, 0)
	for i := range s.reached {
		s.reached[i] = kapi.Is[int]{Var: &s.state, Want: i}
	}
	for c := range k.M.CPUs() {
		k.M.Tasks().SetStopper(c, s.stopper)
	}
	k.Locks.keep()
}

func (s *Stop) reset() {
	s.Sync, s.Reads, s.Early = &s.k.Sync, false, false
	s.who, s.set = 0, s.k.Sync.all
	s.state.Set(stopDone)
	s.acks.Set(0)
}

// Machine runs f on one CPU while all others do nothing, interrupts off
// everywhere. Context: may sleep.
func (s *Stop) Machine(x kapi.Context, f func(x kapi.Context)) { s.machine(x, 0, f) }

// everywhere is Machine with a function that each CPU runs. The caller has read the hotplug lock.
func (s *Stop) everywhere(x kapi.Context, f func(x kapi.Context)) { s.machine(x, everyCPU, f) }

// everyCPU stands for the CPU of a function that each CPU runs.
const everyCPU = -1

// machine is Machine with the function on a CPU. No CPU comes or goes meanwhile, if the
// caller has the hotplug lock.
func (s *Stop) machine(x kapi.Context, who int, f func(x kapi.Context)) {
	if s.Reads {
		s.k.Hotplug.ReadLock(x)
	}
	s.mutex.Lock(x)
	s.f, s.who, s.set = f, who, s.k.Hotplug.Online(x)
	s.acks.Put(x, bits.OnesCount64(s.set))
	x.Fence(stopSteps)
	s.state.WriteOnce(x, stopPrepare)
	x.Fence(stopQueues)
	for set := s.set; set != 0; set &= set - 1 {
		s.k.M.Tasks().Wake(s.k.M.Tasks().Stopper(bits.TrailingZeros64(set)))
	}
	x.Sleep(&s.reached[stopDone])
	s.mutex.Unlock(x)
	if s.Reads {
		s.k.Hotplug.ReadUnlock(x)
	}
}

// stopper is the body of each CPU's stopper (multi_cpu_stop): it makes every step with the
// others.
func (s *Stop) stopper(x *smp.Ctx) {
	x.Step("stopper", stopPrepare)
	if s.Early {
		s.run(x)
	}
	s.ack(x, stopPrepare)

	x.Step("stopper", stopDisable)
	x.IRQ(false)
	s.ack(x, stopDisable)

	if !s.Early {
		s.run(x)
	}
	s.ack(x, stopRun)

	if s.who != everyCPU { // what each CPU runs serialises, or doesn't
		s.Sync.Self(x, smpev.SyncStop)
	}
	x.IRQ(true)
	s.ack(x, stopExit)
}

// run is the step that one CPU makes alone.
func (s *Stop) run(x *smp.Ctx) {
	switch s.who {
	case x.CPU():
		x.Emit(smpev.StopStart, 0, 0, 0)
		x.Step("stopper", stopRun)
		s.f(x)
		x.Emit(smpev.StopEnd, 0, 0, 0)
	case everyCPU:
		x.Step("stopper", stopRun)
		s.f(x)
	}
}

// ack reports that this CPU has made the step. The last CPU to do so sets the next step. All wait for the next step,
// but none waits for the end.
func (s *Stop) ack(x *smp.Ctx, step int) {
	if kapi.Add(&s.acks, x, stopAcks, -1) == 0 {
		s.acks.Put(x, bits.OnesCount64(s.set))
		x.Fence(stopSteps)
		s.state.WriteOnce(x, step+1)
		return
	}
	if step != stopExit {
		x.SpinOn(&s.reached[step+1])
	}
}
