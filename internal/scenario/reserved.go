package scenario

import (
	"kpsim/internal/nearest"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image"
)

// Reserved is a place in a function that a table of the kernel names. kprobes relies on the
// table, and nothing in the scenario rewrites the place.
type Reserved struct {
	Func   string
	Offset int
	By     Reason
	Size   int // in bytes; 0 for ReservedBlacklist
}

// Reason is why text is reserved.
type Reason uint8

// The constants are the reasons.
const (
	ReservedBug        Reason = iota // ud2 or ud1 of BUG and WARN
	ReservedLabel                    // the site of a jump label
	ReservedStaticCall               // the site of a static call
	ReservedBlacklist                // the whole function refuses probes
)

var (
	ReasonWords = []string{"bug", "jump label", "static call", "blacklist"}
	ReasonKinds = []image.SiteKind{image.SiteBug, image.SiteJumpLabel, image.SiteStaticCall, image.SiteBlacklist}
	ReasonSizes = []int{2, x86.JumpLen, x86.JumpLen, 0} // the default sizes
)

func (r Reason) String() string { return nearest.Word(ReasonWords, uint8(r)) }

// TheReserved is the row of reserved places.
var TheReserved = list(func(s *Scenario) *[]Reserved { return &s.Reserved }, checker.checkReserved, List{
	What: "reserved place", Many: "reserved places", Most: MaxTexts, Paragraph: InOthers, Last: true,
	Makers: []*Maker{{
		Word: "reserved",
		Params: []PartParam{
			param("at", PartPlace, func(r *Reserved) any { return Place{&r.Func, &r.Offset} }).bare().follows(),
			param("by", PartWord, func(r *Reserved) any { return Word{ReasonWords, (*uint8)(&r.By)} }).bare(),
			param("size", PartSize, func(r *Reserved) any { return Size{&r.Size, ReasonSizes[r.By]} }).or("None"),
		},
		Says: "a place in a table of the kernel, where kprobes refuses or restricts probes: `by` is `\"bug\"`, the " +
			"ud2 of a BUG or WARN; `\"jump label\"` or `\"static call\"`, a site that isn't patched in this " +
			"scenario, with its `size` in bytes; or `\"blacklist\"`, in a function that refuses probes. `elf()` " +
			"adds those in the object's tables",
		Kernel: []string{"NOKPROBE_SYMBOL", "within_kprobe_blacklist"},
	}},
	Going: "reserved place in",
})

func (c checker) checkReserved(p Part, r *Reserved) error {
	if err := c.function(p, "reserved()", r.Func, r.Offset); err != nil {
		return err
	}
	whole := r.By == ReservedBlacklist
	switch {
	case int(r.By) >= len(ReasonWords):
		return Faultf(p, "reserved(): reason %d isn't known; it is one of %s", r.By, nearest.Quoted(ReasonWords))
	case whole && (r.Offset != 0 || r.Size != 0):
		return Faultf(p, "reserved(): a blacklisted function is so as a whole; give its start, and no size")
	case !whole && (r.Size < 1 || r.Size > x86.MaxLen):
		return Faultf(p, "reserved(): size = %d is out of range; an instruction has 1 to %d bytes", r.Size,
			x86.MaxLen)
	case r.Offset+r.Size > len(c.s.Text(r.Func).Code):
		return Faultf(p, "reserved(): %d bytes at %s+%#x go beyond its end; it has %d", r.Size, r.Func, r.Offset,
			len(c.s.Text(r.Func).Code))
	}
	return nil
}
