package boot

import (
	"fmt"

	"kpsim/engine"
	"kpsim/kprobes/kpev"
	"kpsim/linux"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/traces"
)

// A Question is an instruction of a function.
type Question struct {
	Code []byte
	At   int // offset in Code
}

// The functions of Handlings lie from askedAt on, at multiples of apart, and a page of zeros follows.
const askedAt arch.Addr = 0xffffffff81000000

const apart, page = 32, 0x1000

// Handlings returns what a kernel's own register_kprobe makes of instructions, on one CPU. Each function is a symbol of
// its own; behind it there are zeros. The kernel needs memory for the slots of all of them.
func Handlings(k *linux.Kernel, list []Question) (answers []linux.Handling, err error) {
	from, err := Kernel(k, 1)
	if err != nil {
		return nil, err
	}
	var code []byte
	var places []arch.Addr
	for i := range list {
		q := &list[i]
		places = append(places, askedAt+arch.Addr(len(code)))
		code = append(code, q.Code...)
		code = append(code, make([]byte, (apart-len(code)%apart)%apart)...)
	}
	code = append(code, make([]byte, page)...)

	var log traces.Log
	m, err := smp.New(smp.Config{CPUs: 1, Budget: budget, Arch: k.Arch()}, &log)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	n := kernel.Boot(m, kernel.Config{})
	m.Memory().Map(askedAt, code, smp.PermRead|smp.PermExec)
	for i, at := range places {
		name := fmt.Sprintf("f%d", i)
		m.Names().AddSymbol(name, at, len(list[i].Code))
		n.Symbols.Add(kapi.Function{Name: name, Addr: at, Size: len(list[i].Code)}, nil)
	}
	settings := &linux.Settings{Kernel: k, From: from}
	var e *linux.Linux
	m.Tasks().AddProgram("asks", 0, func(x *smp.Ctx) {
		for i, at := range places {
			answers = append(answers, e.Handling(x, at+arch.Addr(list[i].At)))
		}
	})
	err = start(m, n, &engine.Config{Settings: settings, Booted: linux.Row.Boot(settings, &n.Guest, 1),
		Handle: func(kapi.Context, engine.Hit) int { return 0 },
		Probes: []engine.Probe{{Handlers: 1 << kpev.Pre, Disabled: true}}}, 1, &e)
	return answers, err
}
