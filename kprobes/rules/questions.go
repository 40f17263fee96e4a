package rules

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A Question is an offset in a function that a kernel may be asked about.
type Question struct {
	Function
	At int
}

// A quiz is what tells the decoder of a processor from a faulty one: a row.
type quiz struct {
	forms  [][]form // those that the decoder knows, by the length of instructions
	broad  []form   // classes of all instructions
	behind []form   // forms that refuse what comes after them, or end that
	plain  uint32   // an instruction that may have a probe
}

// How many instructions are drawn of each class, of each form, and of each form with a wrong bit; how many functions of
// a few instructions there are, which are asked about byte by byte; and how far what refuses an instruction lies at
// most before it.
const (
	drawnOfClass = 4
	drawnOfForm  = 4
	drawnWrong   = 6
	quizFuncs    = 24
	quizBehind   = 40
)

// Questions returns questions whose answers differ for decoders that differ: instructions of each form that the decoder
// knows, the same with one of the form's bits wrong, others of all classes; instructions near those that refuse their
// neighbours; all bytes of a few functions. draw returns random numbers. A question's function has no address. Only
// processors whose instructions are numbers have some.
func (k *Kernel) Questions(draw func() uint64) (list []Question) {
	n := k.numbers()
	if n == nil || n.quiz == nil {
		return nil
	}
	ask := func(at int, words ...uint32) {
		q := Question{At: at}
		for _, w := range words {
			q.Code = appendWord(q.Code, w, n.length(w))
		}
		q.Size = len(q.Code)
		q.Code = append(q.Code, make([]byte, 4)...)
		list = append(list, q)
	}
	var known []uint32
	for _, forms := range n.quiz.forms {
		for i := range forms {
			for _, w := range forms[i].edges(draw) {
				known = append(known, w)
				ask(0, w)
			}
		}
	}
	for i := range n.quiz.broad {
		for range drawnOfClass {
			ask(0, n.quiz.broad[i].draw(draw))
		}
	}
	n.quiz.around(draw, ask)
	for range quizFuncs {
		var words []uint32
		size := 0
		for range 4 {
			w := n.quiz.plain
			if draw()%2 == 0 {
				w = known[draw()%uint64(len(known))]
			}
			words = append(words, w)
			size += n.length(w)
		}
		for at := range size {
			ask(at, words...)
		}
	}
	return list
}

// around asks about plain instructions behind others.
func (z *quiz) around(draw func() uint64, ask func(at int, words ...uint32)) {
	for i := range z.behind {
		for _, w := range z.behind[i].edges(draw) {
			ask(4, w, z.plain)
			ask(8, z.behind[0].draw(draw), w, z.plain)
		}
	}
	if len(z.behind) == 0 {
		return
	}
	for far := range quizBehind {
		words := append([]uint32{z.behind[0].draw(draw)}, slices.Repeat([]uint32{z.plain}, far+1)...)
		ask(4*(far+1), words...)
	}
}

// draw returns an instruction of a form.
func (f *form) draw(draw func() uint64) uint32 { return uint32(draw())&^f.mask | f.is }

// edges returns instructions of a form and, for each of its bits, such with that bit wrong.
func (f *form) edges(draw func() uint64) (list []uint32) {
	for range drawnOfForm {
		list = append(list, f.draw(draw))
	}
	for m := f.mask; m != 0; m &= m - 1 {
		for range drawnWrong {
			list = append(list, f.draw(draw)^1<<bits.TrailingZeros32(m))
		}
	}
	if f.not != 0 {
		list = append(list, f.is, f.draw(draw)&^f.not)
	}
	for m := f.not; m != 0; m &= m - 1 {
		list = append(list, f.draw(draw)&^f.not|m&-m)
	}
	return list
}

// appendWord appends an instruction of n bytes, of which a word has the first four.
func appendWord(code []byte, w uint32, n int) []byte {
	code = binary.LittleEndian.AppendUint32(code, w)
	if n < 4 {
		return code[:len(code)-4+n]
	}
	return append(code, make([]byte, n-4)...)
}

// classes returns a form for each value of a mask's bits, a run of bits each.
func classes(is uint32, masks ...uint32) (list []form) {
	list = []form{{mask: 0, is: is}}
	for _, mask := range masks {
		var more []form
		for _, f := range list {
			for v := range mask>>bits.TrailingZeros32(mask) + 1 {
				more = append(more, form{mask: f.mask | mask, is: f.is | v<<bits.TrailingZeros32(mask)})
			}
		}
		list = more
	}
	return list
}
