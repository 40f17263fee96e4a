package pairs

// An excuse says why no drawn program is expected to reach some pairs: those of an operation, a
// sort of object and a state; "" is any.
type excuse struct {
	operation, object, state string
	why                      string
}

// excuses are the pairs that no drawn program is expected to reach.
var excuses = []excuse{
	{"register_all", "jprobe", "", noArrays},
	{"unregister_all", "jprobe", "", noArrays},
	{"insmod", "module", "a call of its text under way", runsAway},
	{"rmmod", "module", "a call of its text under way", runsAway},
	{"hits", "", "", counts},
	{"", "memory for code", "in a module", siteless},
	{"", "memory for code", "a breakpoint of a debugger in it", siteless},
	{"", "memory for code", "a label in it being flipped", siteless},
	{"", "memory for code", "a static call in it being changed", siteless},
	{"", "memory for code", "its site being changed", siteless},
	{"", "memory for code", "the same under way in another task", owned},
	{"", "memory for code", "the inverse under way in another task", owned},
}

// Reasons for several.
const (
	counts   = "how often a probe is hit isn't known of a drawn program"
	siteless = "memory for code is no module's, and no other patcher has a place there"
	owned    = "one task makes and frees memory for code: two would free what the other uses"
	noArrays = "no edition has calls for an array of jprobes"
	runsAway = "the task that calls a module's text loads and unloads it: another's call might be of text that is gone"
)

// whyNot returns why no program is expected to reach a pair, "" if one is.
func whyNot(p *Pair) string {
	for _, e := range excuses {
		if (e.operation == "" || e.operation == p.Operation) && (e.object == "" || e.object == p.Object) &&
			(e.state == "" || e.state == p.State) {
			return e.why
		}
	}
	return ""
}
