package change

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/search/twoengines"
	"kpsim/kprobes/rules"
	"kpsim/linux"
	"kpsim/linux/boot"
)

// questionsAtOnce is the number of instructions asked about in one boot.
const questionsAtOnce = 1024

// Handlings asks a changed kernel's register_kprobe about instructions (rules.Questions), and returns those that it
// handles neither by the rules nor as the unchanged kernel does: one for each pair of a right handling and a wrong.
// asked is the number of instructions. It blocks until all were asked about.
func Handlings(base, k *linux.Kernel, workers int, stop *atomic.Bool) (list []Answer, asked int, err error) {
	m := twoengines.Machine(base)
	m.Kernel.Decoder, _ = rules.DecoderOf(k.Arch())
	questions := m.Kernel.Questions(rand.New(rand.NewPCG(1, 1)).Uint64)
	parts := slices.Collect(slices.Chunk(questions, questionsAtOnce))
	found, err := each(parts, workers, stop, func(part []rules.Question) (*[]Answer, error) {
		all, err := otherwise(base, k, &m, part)
		return &all, err
	})
	said := make(map[string]int)
	for _, all := range found {
		for _, a := range *all {
			if i, ok := said[a.kind]; ok {
				list[i].more++
				continue
			}
			said[a.kind] = len(list)
			a.Program.Name = fmt.Sprintf("handling-%d", len(list)+1)
			list = append(list, a)
		}
	}
	for i := range list {
		if n := list[i].more; n > 0 {
			list[i].Says += fmt.Sprintf(" (and %d like it)", n)
		}
	}
	return list, len(questions), err
}

// otherwise returns the questions that a changed kernel answers neither by the rules nor as the unchanged one.
func otherwise(base, k *linux.Kernel, m *scenario.Machine, list []rules.Question) (out []Answer, err error) {
	got, err := boot.Handlings(k, asQuestions(list))
	if err != nil {
		return nil, err
	}
	var j rules.Judge
	var differ []rules.Question
	var theirs []linux.Handling
	for i := range list {
		q := &list[i]
		q.Name, q.Addr = "f", textAt
		j.Load(&m.Kernel, &q.Function)
		v := j.At(q.At)
		if uint64(-v.Errno) != got[i].Errno || v.Errno == 0 && v.Emulated == got[i].Copied {
			differ, theirs = append(differ, *q), append(theirs, got[i])
		}
	}
	if differ == nil {
		return nil, nil
	}
	before, err := boot.Handlings(base, asQuestions(differ))
	if err != nil {
		return nil, err
	}
	for i := range differ {
		if before[i] != theirs[i] {
			out = append(out, answered(m, &differ[i], &before[i], &theirs[i]))
		}
	}
	return out, nil
}

func asQuestions(list []rules.Question) (out []boot.Question) {
	for i := range list {
		out = append(out, boot.Question{Code: list[i].Code[:list[i].Size], At: list[i].At})
	}
	return out
}

// textAt is where the function of a program lies.
const textAt = 0xffffffff81000000

// answered makes a program of a question.
func answered(m *scenario.Machine, q *rules.Question, before, after *linux.Handling) Answer {
	sc := &scenario.Scenario{Machine: *m,
		Texts:  []scenario.Text{{Name: "f", At: textAt, Code: q.Code[:q.Size]}},
		Probes: []scenario.Probe{{Name: "p", Func: "f", Offset: q.At}},
		Tasks: []scenario.Task{{Name: "one", Repeat: 1, Ops: []scenario.Op{{Kind: act.Register, Target: "p"},
			{Kind: act.Unregister, Target: "p"}}}}}
	kind := fmt.Sprintf("%s, before: %s", handled(after), handled(before))
	return Answer{Program: sc, Says: fmt.Sprintf("at f+%#x of % x: %s", q.At, q.Code[:q.Size], kind), kind: kind}
}

// handled is a handling in words.
func handled(h *linux.Handling) string {
	switch {
	case h.Errno != 0:
		return fmt.Sprintf("register_kprobe answers %d", h.Errno)
	case h.Copied:
		return "a copy is stepped"
	}
	return "it is executed by " + cmp.Or(h.By, "the kernel")
}
