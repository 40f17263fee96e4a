package linux

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"kpsim/kprobes/kpev"
	"kpsim/linux/closure"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// find looks up the symbols that the Go side of the engine uses.
func (k *Kernel) find() error {
	if k.Image.Section(".data..percpu") == nil {
		return fmt.Errorf("it has no per-CPU data: kpsim runs kernels of SMP")
	}
	missing := ""
	lacks := &missing
	need := func(name string) arch.Addr {
		at := k.at(name)
		if at == 0 && *lacks == "" {
			*lacks = "it has no symbol " + name
		}
		return at
	}
	perCPU := func(name, member string) arch.Addr {
		if s, ok := k.Image.Symbol(name); ok {
			return arch.Addr(s.Addr)
		}
		off, _, ok := k.Image.Types().Off("pcpu_hot", member)
		if !ok && missing == "" {
			missing = "it has no symbol " + name
		}
		return need("pcpu_hot") + arch.Addr(off)
	}
	c, own := &k.perCPU, &k.symbols
	if !k.port.perTask {
		c.preemptCount = perCPU("__preempt_count", "preempt_count")
		c.currentTask = perCPU("current_task", "current_task")
		c.cpuNumber = perCPU("cpu_number", "cpu_number")
	}
	c.at = arch.Addr(k.Image.Section(".data..percpu").Addr)
	own.breakpoint, own.memset = need(k.port.trap), k.at("text_poke_memset")
	own.pokeArray, k.extable = k.at("text_poke_array"), sync.OnceValue(k.Image.Extable)
	k.config.ibt = bytes.Equal(k.Image.Bytes(uint64(k.at("register_kprobe")), uint64(len(endbr64))), endbr64)
	k.config.execmem, k.config.kgdbFirst = k.at("execmem_alloc") != 0, k.at("kgdb_ll_trap") != 0
	k.config.uncounted = !k.Preemptible()
	if k.port.perTask && k.Preemptible() {
		if k.config.wanted = k.port.wanted(k); k.config.wanted == (kapi.Wanted{}) {
			return fmt.Errorf("its preempt_schedule looks at no flag of the task that is known here: the kernel is " +
				"newer than this program")
		}
	}
	if missing != "" {
		return fmt.Errorf("%s: is it built with SMP?%s", missing, k.whole())
	}
	lacks = &k.config.without
	findProbes(k, need)
	if k.config.without != "" && k.whole() != "" { // neither would the others be found
		return fmt.Errorf("%s: is it built with CONFIG_KPROBES and SMP?%s", k.config.without, k.whole())
	}
	if err := k.renamed(); err != nil {
		return err
	}
	s := k.Image.Section(".text")
	if s == nil {
		return fmt.Errorf("it has no .text")
	}
	k.text = span{arch.Addr(s.Addr), int(s.Size)}
	k.findLabels()
	k.findCalls()
	k.findRecords()
	k.config.fprobes = cmp.Or(k.config.without, findFprobes(k))
	findClients(k)
	for _, s := range k.Image.Sections() {
		if s.Name == ".text" {
			k.texts = append(k.texts, span{arch.Addr(s.Addr), int(s.Size)})
		}
	}
	return nil
}

// findProbes looks up what kprobes need.
func findProbes(k *Kernel, need func(name string) arch.Addr) {
	c, own := &k.perCPU, &k.symbols
	if name := k.port.frames.step; name != "" {
		own.step = need(name)
	}
	own.faultHandler, own.optSlots = need("kprobe_fault_handler"), k.at("kprobe_optinsn_slots")
	c.currentKprobe, c.ctlblk = k.at("current_kprobe"), k.at("kprobe_ctlblk")
	c.kprobeInstance = k.at("kprobe_instance")
	for i, name := range []string{"optimizing_list", "unoptimizing_list", "freeing_list"} {
		own.optimizer[i] = k.at(name)
	}
	own.kprobeMutex, own.table = need("kprobe_mutex"), need("kprobe_table")
	trampoline := k.hooks.trampoline
	if older := strings.TrimPrefix(trampoline, "__"); k.at(trampoline) == 0 && k.at(older) != 0 {
		trampoline = older // until 5.15
	}
	own.trampoline, own.flushTask = need(trampoline), k.at(k.hooks.flush)
	if k.hooks.table != "" {
		own.calls = need(k.hooks.table)
	}
	own.aggrPre, own.retPre = need("aggr_pre_handler"), need("pre_handler_kretprobe")
	k.api.one = [8]arch.Addr{kpev.Register: need("register_kprobe"), kpev.Unregister: need("unregister_kprobe"),
		kpev.Enable: need("enable_kprobe"), kpev.Disable: need("disable_kprobe")}
	k.api.ret = [8]arch.Addr{kpev.Register: need("register_kretprobe"), kpev.Unregister: need("unregister_kretprobe"),
		kpev.Enable: k.api.one[kpev.Enable], kpev.Disable: k.api.one[kpev.Disable]}
	k.api.array = [8]arch.Addr{kpev.Register: need("register_kprobes"), kpev.Unregister: need("unregister_kprobes")}
	k.api.retArray = [8]arch.Addr{kpev.Register: need("register_kretprobes"),
		kpev.Unregister: need("unregister_kretprobes")}
}

// Lacks returns what a set of the closure can't be run without, and isn't in the kernel; "" if it is run.
func (k *Kernel) Lacks(set string) string {
	switch {
	case !slices.Contains(closure.Top(), set):
		return "kpsim runs its own in Go"
	case set == probing:
		return k.config.without
	case set == following:
		return k.config.fprobes
	}
	return ""
}

// The sets that probes and fprobes need.
const (
	probing   = "kprobes"
	following = "fprobe"
)

// setsOf returns the sets that are run: what is missing for one doesn't refuse another.
func setsOf(k *Kernel) []string {
	return slices.DeleteFunc(closure.Top(), func(set string) bool { return k.Lacks(set) != "" })
}
