package rules

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// quizzed are the decoders that have questions.
var quizzed = []Decoder{DecodesRISCV64, DecodesARM64}

// Questions are about instructions of functions, the same each time; there are none about x86.
func TestQuestions(t *testing.T) {
	require.Empty(t, (&Kernel{Edition: Edition69}).Questions(nil))
	for _, d := range quizzed {
		k := Kernel{Edition: Edition69, Decoder: d}
		list := k.Questions(rand.New(rand.NewPCG(1, 1)).Uint64)
		require.Equal(t, list, k.Questions(rand.New(rand.NewPCG(1, 1)).Uint64))
		var answers [3]int // refused, stepped, simulated
		var j Judge
		for i := range list {
			q := &list[i]
			q.Name, q.Addr = "f", 0x1000
			require.Less(t, q.At, q.Size)
			j.Load(&k, &q.Function)
			switch v := j.At(q.At); {
			case v.Errno != 0:
				answers[0]++
			case v.Emulated:
				answers[2]++
			default:
				answers[1]++
			}
		}
		require.Greater(t, slices.Min(answers[:]), 150, "%v: %v", d, answers)
	}
}

// A decoder that lacks a form, or doesn't look at one of its bits, answers a question otherwise, unless it never does.
func TestQuestionsTell(t *testing.T) {
	for _, d := range quizzed {
		k := Kernel{Edition: Edition69, Decoder: d}
		r := rand.New(rand.NewPCG(1, 1))
		asked := make(map[int][]uint32) // by length
		for _, q := range k.Questions(r.Uint64) {
			w := uint32(wordOf(q.Code))
			n := k.numbers().length(w)
			asked[n] = append(asked[n], w)
		}
		told := 0
		for _, forms := range k.numbers().quiz.forms {
			size := k.numbers().length(forms[0].is)
			eachWrong(forms, func(i int, wrong []form) {
				differ := func(w uint32) bool {
					if size == 2 {
						w &= 0xffff
					}
					a, _ := sortBy(forms, &k, w)
					b, _ := sortBy(wrong, &k, w)
					return a != b && k.numbers().length(w) == size
				}
				if slices.ContainsFunc(asked[size], differ) {
					told++
					return
				}
				for range 5_000 {
					w := forms[i].draw(r.Uint64) ^ 1<<r.IntN(8*size)
					require.False(t, differ(w), "%v: %08x, form %d", d, w, i)
				}
			})
		}
		require.Greater(t, told, 80, "%v", d)
	}
}

// eachWrong calls f with forms of which one is missing, or has a bit less.
func eachWrong(forms []form, f func(i int, wrong []form)) {
	for i := range forms {
		f(i, slices.Delete(slices.Clone(forms), i, i+1))
		for m := forms[i].mask; m != 0; m &= m - 1 {
			wrong := slices.Clone(forms)
			wrong[i].mask &^= m & -m
			wrong[i].is &^= m & -m
			f(i, wrong)
		}
	}
}
