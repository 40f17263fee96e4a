package view

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"kpsim/smp/smpev"
)

const summaryLines = 10

// Summary prints the story in at most ten lines: the violation, what was
// stored at its site and who was interrupted in there, and the deviations.
func Summary(w io.Writer, in Input) error {
	out := bufio.NewWriter(w)
	in.All, in.Width = false, 0
	t := newTeller(&in)
	var story []row
	for _, r := range t.rows() {
		changes := r.class == stores && r.kind != smpev.Image && !strings.Contains(r.text, stays)
		if r.class == violates || r.weight == much && (changes || r.class == traps || r.kind == smpev.Free) {
			story = append(story, r)
		}
	}
	p := printer{in: &in, w: out, single: true}
	if in.Property == "" {
		fmt.Fprintln(out, "no property is broken")
	} else {
		fmt.Fprintln(out, p.paint(colours[violates], t.headline()))
	}
	devs := in.Schedule
	most := summaryLines - 1 - min(len(devs), summaryLines/2-1)
	if len(story) > most {
		story = story[len(story)-most:]
	}
	for i := range story {
		r := &story[i]
		r.depth = 0
		fmt.Fprintln(out, p.paint(colours[r.class], fmt.Sprintf("%6d  %s%s", r.seq, p.lead(r), r.text)))
	}
	room := summaryLines - 1 - len(story)
	for i, d := range devs {
		if i == room-1 && len(devs) > room {
			fmt.Fprintf(out, "  and %s\n", count(len(devs)-i, "deviation", "deviations"))
			break
		}
		fmt.Fprintf(out, "  deviation: %s\n", d)
	}
	return out.Flush()
}
