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
}

// Reasons for several.
const (
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
