package scenario

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/image"
)

// Label is a key, and its sites: instructions that flip from a nop to a jump and back, all of them when the key is
// turned on or off.
type Label struct {
	Name  string
	Sites []LabelSite
}

// LabelSite is a site of a jump label. Its text says how many bytes it has, and what stands there at first.
type LabelSite struct {
	Func   string
	Offset int
	Target string // the function (plus TOff) the jump goes to
	TOff   int
	Likely bool // the jump stands there while the key is off
}

// TheLabels is the row of jump labels.
var TheLabels = list(func(s *Scenario) *[]Label { return &s.Labels }, checker.checkLabel, List{
	What: "label", Many: "labels", Most: MaxLabels, Counted: "label", Space: "label", Given: true,
	Paragraph: InProbes, Touches: TouchPatched,
	patched: func(s *Scenario, x any) (list []Patched) {
		for _, t := range x.(*Label).Sites {
			n := 0
			if form, _ := s.LabelForm(&t); form >= 0 {
				n = s.labelForms()[form].Len()
			}
			list = append(list, Patched{Func: t.Func, Offset: t.Offset, Len: n, Kind: image.SiteJumpLabel})
		}
		return list
	},
	Makers: []*Maker{{
		Word: "jump_label",
		Params: []PartParam{
			param("name", PartName, func(l *Label) any { return &l.Name }),
			param("at", PartKeySites, func(l *Label) any { return &l.Sites }),
			param("target", PartKeyTargets, func(l *Label) any { return &l.Sites }),
			param("offset", PartOffset, func(l *Label) any {
				return Place{&l.Sites[0].Func, &l.Sites[0].Offset}
			}).or("0"),
			param("toff", PartOffset, func(l *Label) any {
				return Place{&l.Sites[0].Target, &l.Sites[0].TOff}
			}).or("0"),
			param("likely", PartKeyLikely, func(l *Label) any { return &l.Sites }).or("False"),
		},
		Init: func(x any) { x.(*Label).Sites = make([]LabelSite, 1) },
		Says: "a static key: the instruction at `at + offset` is a nop and, while the key is on, a jump to " +
			"`target`, or `toff` bytes after it. With a `likely` branch it is the jump while the key is off. The " +
			"text says what the key is at first: the nop `0f1f440000`, or `e9…`, the jump. Sites of two bytes " +
			"(5.14) are `6690` or `eb…`. Sites of riscv64 are `00000013` or a `jal` that links nothing; " +
			"those of arm64 `d503201f` or a `b`, those of ppc64le `60000000` or a `b`. A key may have " +
			"several sites: `at = [f, g]`, with a target each, or one for all; `likely` is `True`, or a list, too",
		Kernel: []string{"static_key", "static_branch", "DEFINE_STATIC_KEY_FALSE", "DEFINE_STATIC_KEY_TRUE",
			"static_branch_likely", "static_branch_unlikely", "jump_entry"},
	}},
	Fewer: on(func(l *Label) (list []Change[any]) {
		for k := len(l.Sites) - 1; k >= 0 && len(l.Sites) > 1; k-- {
			list = append(list, Change[any]{"site in " + l.Sites[k].Func + " of label " + l.Name, func(x any) {
				l := x.(*Label)
				l.Sites = slices.Delete(slices.Clone(l.Sites), k, k+1)
			}})
		}
		return list
	}),
})

// labelForms are the forms of a jump label's site, as scenarios write them.
func (s *Scenario) labelForms() []arch.LabelForm { return s.Machine.Arch.Row(true).Labels }

// LabelForm returns which of the processor's forms the text at a site of a jump label has, and whether it is the
// jump. form is -1 if it is neither a nop nor a jump that a label stands on.
func (s *Scenario) LabelForm(t *LabelSite) (form int, jump bool) {
	f := s.Text(t.Func)
	if f == nil || t.Offset < 0 || t.Offset >= len(f.Code) {
		return -1, false
	}
	forms := s.labelForms()
	for i := range forms {
		if ok, jump := forms[i].Holds(f.Code[t.Offset:]); ok {
			return i, jump
		}
	}
	return -1, false
}

// LabelOn reports whether a jump label is on when a run begins.
func (s *Scenario) LabelOn(l *Label) bool {
	_, jump := s.LabelForm(&l.Sites[0])
	return jump != l.Sites[0].Likely
}

// ShortLabel returns the first of the jump labels that has a site of a shorter form than the first; -1: none has.
func (s *Scenario) ShortLabel() int {
	return slices.IndexFunc(s.Labels, func(l Label) bool {
		return slices.ContainsFunc(l.Sites, func(t LabelSite) bool {
			form, _ := s.LabelForm(&t)
			return form > 0
		})
	})
}

func (c checker) checkLabel(p Part, l *Label) error {
	who := p.who(l.Name)
	if len(l.Sites) == 0 {
		return Faultf(p, "%s has no site; give it at = f, or at = [f, g]", who)
	}
	sites := 0
	for i := range c.s.Labels[:p.I+1] {
		sites += len(c.s.Labels[i].Sites)
	}
	if sites > MaxLabels {
		return Faultf(p, "%s: all labels up to it have %d sites; at most %d", who, sites, MaxLabels)
	}
	for i := range l.Sites {
		t := &l.Sites[i]
		same := func(o LabelSite) bool { return o.Func == t.Func && o.Offset == t.Offset }
		if slices.ContainsFunc(l.Sites[:i], same) {
			return Faultf(p, "%s has %s twice; give each site once", who, placeName(t.Func, t.Offset))
		}
		if err := c.checkLabelSite(p, who, t); err != nil {
			return err
		}
		if _, jump := c.s.LabelForm(t); (jump != t.Likely) != c.s.LabelOn(l) {
			first := &l.Sites[0]
			return Faultf(p, "%s: by the text of %s the key is %s at first, by that of %s it isn't; change the text "+
				"of one, or say likely of it", who, placeName(first.Func, first.Offset), onOff(c.s.LabelOn(l)),
				placeName(t.Func, t.Offset))
		}
	}
	return nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (c checker) checkLabelSite(p Part, who string, t *LabelSite) error {
	if err := c.function(p, who, t.Func, t.Offset); err != nil {
		return err
	}
	form, jump := c.s.LabelForm(t)
	forms, e := c.s.labelForms(), c.s.Machine.Edition
	switch {
	case form < 0:
		return Faultf(p, "%s: %s is no nop or jump of %s bytes; a label stands on %s", who,
			placeName(t.Func, t.Offset), lengths(forms), standsOn(forms))
	case form > 0 && e != rules.EditionNone && e < rules.Edition514:
		return Faultf(p, "%s: %s has two bytes, which sites of labels have since 5.14; take 0f1f440000 or e9…, or a "+
			"later edition", who, placeName(t.Func, t.Offset))
	}
	if err := c.function(p, who+" target", t.Target, t.TOff); err != nil {
		return err
	}
	at, to := c.s.Text(t.Func).At+arch.Addr(t.Offset), c.s.Text(t.Target).At+arch.Addr(t.TOff)
	f := &forms[form]
	want, reached := f.Jump(at, to)
	if !reached {
		or := ""
		if form > 0 {
			or = fmt.Sprintf(", or take a site of %d bytes", forms[0].Len())
		}
		return Faultf(p, "%s: %s is too far for a jump of %d bytes; place it within %s of %s%s", who,
			placeName(t.Target, t.TOff), f.Len(), f.Reach, placeName(t.Func, t.Offset), or)
	}
	if code := c.s.Text(t.Func).Code[t.Offset:][:f.Len()]; jump && !bytes.Equal(code, want.Bytes()) {
		return Faultf(p, "%s: % x at %s is no jump to %s, which is % x; correct it, or the target", who, code,
			placeName(t.Func, t.Offset), placeName(t.Target, t.TOff), want.Bytes())
	}
	return nil
}

// lengths lists the lengths of forms.
func lengths(forms []arch.LabelForm) string {
	var list []string
	for i := range forms {
		list = append(list, strconv.Itoa(forms[i].Len()))
	}
	return strings.Join(list, " or ")
}

// standsOn lists what a label may stand on, as scenarios write it.
func standsOn(forms []arch.LabelForm) string {
	var list []string
	for i := range forms {
		list = append(list, forms[i].Hex[0], forms[i].Hex[1])
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}
