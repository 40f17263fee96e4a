package boot

import (
	"fmt"
	"sync"

	"kpsim/engine"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/traces"
)

// budget is how many boundaries a boot may take.
const budget = 50_000_000

var (
	mutex sync.Mutex
	known = make(map[key]*linux.Booted)
)

type key struct {
	kernel *linux.Kernel
	cpus   int
}

// Kernel boots a kernel on a number of CPUs: once in a process.
func Kernel(k *linux.Kernel, cpus int) (*linux.Booted, error) {
	mutex.Lock()
	defer mutex.Unlock()
	if b := known[key{k, cpus}]; b != nil {
		return b, nil
	}
	b, err := boot(k, cpus)
	if err != nil {
		return nil, fmt.Errorf("%s: its engine doesn't start: %w", k.Image.Path, err)
	}
	known[key{k, cpus}] = b
	return b, nil
}

// Forget drops a kernel, so that its memory can be freed. No scenario may run it then.
func Forget(k *linux.Kernel) {
	linux.Take(k)
	mutex.Lock()
	defer mutex.Unlock()
	for cpus := range k.MostCPUs() + 1 {
		delete(known, key{k, cpus})
	}
}

// boot runs the kernel's initialisation on a machine of its own.
func boot(k *linux.Kernel, cpus int) (*linux.Booted, error) {
	if most := k.MostCPUs(); cpus > most {
		return nil, fmt.Errorf("it is built for %d CPUs at most, and the machine has %d; give the machine fewer", most,
			cpus)
	}
	var log traces.Log
	m, err := smp.New(smp.Config{CPUs: cpus, Full: true, Budget: budget, Arch: k.Arch()}, &log)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	n := kernel.Boot(m, kernel.Config{Preemptible: true})
	settings := &linux.Settings{Kernel: k}
	c := engine.Config{Settings: settings, Booted: linux.Row.Boot(settings, &n.Guest, cpus)}
	var e *linux.Linux
	var wrong error
	m.Tasks().AddProgram("boot", 0, func(x *smp.Ctx) { wrong = e.Boot(x) })
	if err := start(m, n, &c, cpus, &e); err != nil {
		return nil, err
	}
	if wrong != nil {
		return nil, wrong
	}
	return e.Booted(), nil
}

// start makes the engine e of a machine whose text and programs are there, and runs the machine by the default
// schedule.
func start(m *smp.Machine, n *kernel.Kernel, c *engine.Config, cpus int, e **linux.Linux) error {
	m.Names().Further = c.Settings.(*linux.Settings).Kernel.Symbol
	m.Freeze()
	m.Reset(new(sched.Default))
	n.Reset()
	c.Deps = engine.Deps{
		CPUs: cpus, Cells: &m.Cells, Text: &n.Text, Patch: &n.Poke, Sync: &n.Sync, RCU: &n.RCU, Locks: &n.Locks,
		Work: &n.Work, Exec: &n.Exec, Traps: &n.Traps, Bind: n, Symbols: &n.Symbols, Tasks: &n.Tasks,
		Hotplug: &n.Hotplug,
		Stacks:  &n.Stacks, Modules: &n.Modules, ModuleMutex: n.Modules.Mutex(), Guest: &n.Guest,
		Tell: func(kapi.Context, traces.Kind, uint64, uint64, uint64) {},
	}
	*e = linux.Row.New(c).(*linux.Linux)
	(*e).BootCPUs()
	if o := m.Run(); o != smp.Passed {
		return fmt.Errorf("%v: %w %s", o, m.Refusal(), m.Died())
	}
	return nil
}
