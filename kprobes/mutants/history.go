package mutants

import (
	_ "embed" // history.tsv
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// A Fix is a row of history.tsv: a fault that kernels had, from the release that introduced it to the one that fixed
// it.
//
// Introduced is from the commit that the fix names, or from the source of the releases around it; where neither was
// available it is the first release that had the code. A row has no commit if the fault isn't fixed, or if the id
// couldn't be looked up. Sources says where the given ones were found.
type Fix struct {
	Commit     string // 12 hexadecimal digits, or ""
	Introduced Release
	Fixed      Release // Never: not as far as we know; equal to Introduced: it was in release candidates only
	Area       string  // one of Areas
	Kind       string  // one of Kinds
	Seen       string  // a word of Sources: where commit and fault were looked up
	Back       []Back  // at least one
	Says       string  // the effect of the fault
}

// In reports whether a release had the fault.
func (f *Fix) In(r Release) bool { return f.Introduced <= r && r < f.Fixed }

// Releases names the releases with the fault: "until 5.5" if kprobes had it from the start, "5.13 to 5.19", "6.7 and
// later", "5.6-rc".
func (f *Fix) Releases() string {
	switch {
	case f.Introduced == f.Fixed:
		return f.Introduced.String() + "-rc"
	case f.Fixed == Never:
		return f.Introduced.String() + " and later"
	case f.Introduced == First:
		return "until " + f.Fixed.before().String()
	case f.Introduced == f.Fixed.before():
		return f.Introduced.String()
	}
	return f.Introduced.String() + " to " + f.Fixed.before().String()
}

// A Release of Linux; later ones are greater.
type Release uint32

const (
	First Release = 2<<20 | 6<<10 | 9 // had the first kprobes
	Never Release = math.MaxUint32    // not released yet
)

// lastMinor are the last releases of the major versions that have ended.
var lastMinor = [...]Release{2: 2<<20 | 6<<10 | 39, 3: 3<<20 | 19<<10, 4: 4<<20 | 20<<10, 5: 5<<20 | 19<<10,
	6: 6<<20 | 19<<10}

// ParseRelease reads 2.6.38, 5.13 or never.
func ParseRelease(s string) (Release, error) {
	if s == "never" {
		return Never, nil
	}
	parts := strings.Split(s, ".")
	var n [3]uint64
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 10)
		if err != nil || i == len(n) || strconv.FormatUint(v, 10) != p {
			return 0, fmt.Errorf("no release is called %q; write it as 2.6.38 or 5.13", s)
		}
		n[i] = v
	}
	r := Release(n[0]<<20 | n[1]<<10 | n[2])
	old := n[0] == 2
	if old && (len(parts) != 3 || n[1] != 6) || !old && len(parts) != 2 || r < First || int(n[0]) < len(lastMinor) &&
		r > lastMinor[n[0]] {
		return 0, fmt.Errorf("no release is called %q; write it as 2.6.38 or 5.13", s)
	}
	return r, nil
}

func (r Release) String() string {
	major, minor, patch := r>>20, r>>10&1023, r&1023
	switch {
	case r == Never:
		return "never"
	case major == 2:
		return fmt.Sprintf("%d.%d.%d", major, minor, patch)
	}
	return fmt.Sprintf("%d.%d", major, minor)
}

// before returns the release before r.
func (r Release) before() Release {
	switch major := r >> 20; {
	case major == 2:
		return r - 1
	case r == major<<20:
		return lastMinor[major-1]
	}
	return r - 1<<10
}

// A Back is how a fault is brought back, or why it can't be.
type Back struct {
	How How
	// a mutant, a file of scripts/take-back.d, a scenario; NotHere: a word of Reasons; ASetting: ""
	Name string
}

// A How is a way to bring a fault back. Only a mutant is brought back by --as-shipped.
type How uint8

const (
	AMutant   How = iota // the mutant of All does just that
	LikeOne              // the mutant of All does more than the kernel did, or only something like it
	ARule                // a mutant of ofRules does it
	TakenBack            // the kernel's own source without the fix does it
	AScenario            // a scenario of scripts/take-back.scenarios shows it in kernels as they are
	ASetting             // a setting of the right engine has it
	NotHere              // it isn't brought back
)

var hows = [...]string{"mutant", "like", "rule", "taken back", "scenario", "setting", "not:"}

// missingReason says, for each How but NotHere, why --as-shipped doesn't bring such a fault back.
var missingReason = [...]string{
	AMutant: "can't be noticed", LikeOne: "a mutant does more than the kernel did, or only something like it",
	ARule:     "only tests of the specification's rules have a mutant",
	TakenBack: "only the kernel's own source without the fix shows it (taken-back.md)",
	AScenario: "kernels show it as they are", ASetting: "it is a setting of scenarios",
}

func (b Back) String() string { return strings.TrimSpace(hows[b.How] + " " + b.Name) }

// A Reason is why a fault isn't brought back.
type Reason struct{ Word, Says string }

// Reasons are all of them.
var Reasons = []Reason{
	{"open", "it could be: the mutant is still to be written"},
	{"symbol", "it is about which of the kernel's own functions may be probed or traced: those are Go here"},
	{"below", "it is below text patching: page tables, write protection, the processor's errata"},
	{"boot", "it is in code that runs once, at boot or when a module is loaded: alternatives, init text, the order " +
		"of initialization"},
	{"order", "data accesses take effect in their order here"},
	{"memory", "no allocation fails here"},
	{"fprobe", "it is in parts of fprobes that aren't modelled: their memory, FPROBE_FL_KPROBE_SHARED, their form " +
		"since 6.14"},
	{"decoder", "it is in tables of the kernel's decoder; ours is compared with objdump"},
	{"absent", "the code with the fault isn't modelled"},
	{"setting", "kernels differ there by their configuration or their compiler, and a scenario says so"},
	{"annotation", "a checker warned about correct code, or the code states more clearly what it did before"},
	{"text", "only the text of a file is wrong"},
	{"build", "the kernel didn't compile, or a compiler was wrong"},
	{"arch", "only i386 has it"},
}

// Areas, Kinds and Sources are the words of those columns.
var (
	Areas = []string{"kprobes", "stepping", "optprobe", "return", "jprobe", "rethook", "objpool", "fprobe", "ftrace",
		"module", "blacklist", "text", "jump_label", "static_call", "decoder"}
	Kinds = []string{"race", "deadlock", "condition", "check", "decode", "leak", "refcount", "memory", "build"}

	Sources = []Reason{
		{"tree", "in the history of a kernel's source, 2.6.12 to 2.6.39"},
		{"mail", "in archived mail: of the stable kernels, of the tip tree, of pushes to kernel.org; the id was " +
			"there with its subject or message"},
		{"study", "in the notes that this engine was built from, which say for some ids that they are from memory"},
		{"web", "in a copy of a kernel's source on the web: the id was there with its subject and its change"},
		{"run", "no commit: it was found here, and shown on a real kernel"},
		{"no", "the id wasn't found, and isn't given; fault and release are from memory"},
	}
)

//go:embed history.tsv
var historyText string

// History has the faults of kprobes and of code that patches text beside it, in the order in which they were fixed.
var History = sync.OnceValue(func() []Fix {
	list, err := parseHistory(historyText)
	if err != nil {
		panic(err)
	}
	return list
})

// parseHistory reads a table whose first line names its columns.
func parseHistory(text string) (list []Fix, err error) {
	n := 0
	for line := range strings.Lines(text) {
		if n++; n == 1 {
			continue
		}
		f, err := parseFix(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("history.tsv:%d: %w", n, err)
		}
		list = append(list, f)
	}
	return list, nil
}

func parseFix(line string) (f Fix, err error) {
	c := strings.Split(line, "\t")
	if len(c) != 8 {
		return f, fmt.Errorf("%d columns, not 8", len(c))
	}
	f = Fix{Commit: c[0], Area: c[3], Kind: c[4], Seen: c[5], Says: c[7]}
	if f.Commit == "-" {
		f.Commit = ""
	}
	if f.Introduced, err = ParseRelease(c[1]); err != nil {
		return f, err
	}
	if f.Fixed, err = ParseRelease(c[2]); err != nil {
		return f, err
	}
	for word := range strings.SplitSeq(c[6], "; ") {
		b, ok := parseBack(word)
		if !ok {
			return f, fmt.Errorf("%q names neither a way to bring the fault back nor a reason why there is "+
				"none", word)
		}
		f.Back = append(f.Back, b)
	}
	return f, nil
}

func parseBack(word string) (Back, bool) {
	for how, prefix := range hows {
		if rest, ok := strings.CutPrefix(word, prefix); ok {
			return Back{How(how), strings.TrimSpace(rest)}, true
		}
	}
	return Back{}, false
}
