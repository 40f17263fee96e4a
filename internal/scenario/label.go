package scenario

import (
	"bytes"
	"math"

	"kpsim/smp/arch/x86"
	"kpsim/smp/image"
)

// Label is a raw client of text_poke_bp: a 5-byte nop that flips to a jump and
// back, as a jump label does.
type Label struct {
	Name   string
	Func   string
	Offset int
	Target string // the function (plus TargetOffset) the jump goes to
	TOff   int
}

// TheLabels is the row of jump labels.
var TheLabels = list(func(s *Scenario) *[]Label { return &s.Labels }, checker.checkLabel, List{
	What: "label", Many: "labels", Most: MaxLabels, Counted: "label", Space: "label", Given: true,
	Paragraph: InProbes, Touches: TouchPatched,
	patched: on(func(l *Label) []Patched {
		return []Patched{{Func: l.Func, Offset: l.Offset, Len: x86.JumpLen, Kind: image.SiteJumpLabel}}
	}),
	Makers: []*Maker{{
		Word: "jump_label",
		Params: []PartParam{
			param("name", PartName, func(l *Label) any { return &l.Name }),
			param("at", PartPlace, func(l *Label) any { return Place{&l.Func, &l.Offset} }),
			param("target", PartPlace, func(l *Label) any { return Place{&l.Target, &l.TOff} }),
			param("offset", PartOffset, func(l *Label) any { return Place{&l.Func, &l.Offset} }).or("0"),
			param("toff", PartOffset, func(l *Label) any { return Place{&l.Target, &l.TOff} }).or("0"),
		},
		Says: "a 5-byte nop `0f1f440000` at `at + offset` that flips to a jump to `target`, or `toff` bytes after " +
			"it, and back",
		Kernel: []string{"static_key", "static_branch", "DEFINE_STATIC_KEY_FALSE", "DEFINE_STATIC_KEY_TRUE"},
	}},
})

func (c checker) checkLabel(p Part, l *Label) error {
	who := p.who(l.Name)
	if err := c.function(p, who, l.Func, l.Offset); err != nil {
		return err
	}
	site := c.s.Text(l.Func)
	if !bytes.HasPrefix(site.Code[l.Offset:], x86.Nop5[:]) {
		return Faultf(p, "%s: %s+%#x isn't a 5-byte nop; a label stands on 0f1f440000", who, l.Func, l.Offset)
	}
	if err := c.function(p, who+" target", l.Target, l.TOff); err != nil {
		return err
	}
	target := c.s.Text(l.Target)
	jump := int64(target.At) + int64(l.TOff) - int64(site.At) - int64(l.Offset) - int64(len(x86.Nop5[:]))
	if jump < math.MinInt32 || jump > math.MaxInt32 {
		return Faultf(p, "%s: %s is too far for a 5-byte jump; place it within 2 GB of %s", who, l.Target, l.Func)
	}
	return nil
}
