package gen

import (
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/smp/arch"
)

const (
	applied             = "applied"
	appliedAt arch.Addr = 0xffffffff81060000
)

// inPlaceOf holds pairs of equivalent instructions of equal length, for x86-64 and i386.
var inPlaceOf = [...][2][]byte{
	{{0x89, 0xf8}, {0x8b, 0xc7}},                                     // mov %edi,%eax
	{{0x0f, 0xae, 0xe8}, {0x0f, 0x1f, 0x00}},                         // lfence; nop
	{{0x0f, 0x1f, 0x44, 0x00, 0x00}, {0x66, 0x66, 0x66, 0x66, 0x90}}, // nops
}

// alternatives adds a function that only one task runs, before and after some of its instructions
// are replaced by alternatives. No other CPU may have run it, so no CPU may go offline around it.
func (g *maker) alternatives() {
	g.part("alternatives")
	if !rarely(g, 12) || g.on.Contract || g.on.Few || g.sc.Does(act.Offline) || g.sc.Machine.Engine != "" {
		return
	}
	var code []byte
	for range 1 + g.rand.N(4) {
		pair := inPlaceOf[g.rand.N(len(inPlaceOf))]
		g.sc.Alternatives = append(g.sc.Alternatives, scenario.Alternative{Func: applied, Offset: len(code),
			Code: pair[1]})
		code = append(code, pair[0]...)
	}
	code = append(code, 0x89, 0xf8, 0xc3) // mov %edi,%eax; ret
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: applied, At: g.arch().Addr(appliedAt + arch.Addr(g.rand.N(8))),
		Code: code})
	call := func() scenario.Op {
		return scenario.Op{Kind: act.Call, Target: applied, Args: []uint64{uint64(g.rand.N(8))}}
	}
	g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: "applier", CPU: g.rand.N(g.sc.Machine.CPUs), Repeat: 1,
		Ops: []scenario.Op{call(), {Kind: act.Alternatives}, call()}})
}
