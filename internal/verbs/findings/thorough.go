package findings

import (
	"fmt"
	"strings"

	"kpsim/internal/search/explore"
	"kpsim/internal/ui/cli"
	"kpsim/sched"
)

// firstJSON is the number of schedules after which a search finds a violation.
type firstJSON struct {
	explore.First
	Median *uint64 `json:"median"` // null: more than bound
	Low    *uint64 `json:"low"`
	High   *uint64 `json:"high"`
}

// firstSeen says how soon an exploration breaks a property.
type firstSeen struct {
	First *firstJSON `json:"first_witness,omitempty"`
	// FirstSchedule is the number, from 1, of the first schedule that broke something. Only a strategy whose
	// schedules don't depend on the seed has it.
	FirstSchedule uint64 `json:"first_schedule,omitempty"`
}

// setSchedule records which schedule was the first that broke something, if the schedules don't depend on the seed.
// Further searches with other seeds would repeat the same schedules. A share doesn't have all of them.
func (c *Explore) setSchedule(rows []*row, res *explore.Result) {
	if !sched.Seedless(c.Strategy) || res.Violations == 0 || c.shares > 1 {
		return
	}
	says := "first witness"
	if len(res.Broken) > 1 {
		says = "first schedule that broke any of these"
	}
	for _, r := range rows {
		if r.Violations > 0 {
			r.FirstSchedule = res.First + 1
			r.shows = append(r.shows, fmt.Sprintf("%s: number %d of %s, which are the same for each seed", says,
				r.FirstSchedule, cli.Number(res.Runs, "schedule")))
			return
		}
	}
}

// setFirst records how soon the row's property is broken, if that was measured.
func (r *row) setFirst(list []explore.First) {
	for _, f := range list {
		if f.Property != r.Property {
			continue
		}
		median, low, high := f.Median()
		r.First = &firstJSON{f, orNull(median), orNull(low), orNull(high)}
		r.shows = append(r.shows, firstLine(&f, median, low, high))
	}
}

func orNull(n uint64) *uint64 {
	if n == 0 {
		return nil
	}
	return &n
}

func firstLine(f *explore.First, median, low, high uint64) string {
	if median == 0 {
		return fmt.Sprintf("first witness within %s for %d of %d seeds", cli.Number(f.Bound, "schedule"), len(f.Found),
			f.Seeds)
	}
	to := fmt.Sprint(high)
	if high == 0 {
		to = fmt.Sprintf("more than %d", f.Bound)
	}
	return fmt.Sprintf("first witness after %s in the median (%d to %s, %d seeds)", cli.Number(median, "schedule"), low,
		to, f.Seeds)
}

// coverageLines says in two lines what share of all behaviours a search has seen.
func coverageLines(res *explore.Result) []string {
	st := &res.Stats
	if st.Sampled == 0 {
		return []string{cli.Number(res.Counts.Points, "point") + "; too few runs for an estimate"}
	}
	lines := []string{fmt.Sprintf("%s; %s in %s sampled%s",
		cli.Number(res.Counts.Points, "point"),
		cli.Number(st.Behaviours, "behaviour"), cli.Number(st.Sampled, "run"), unseenShare(st))}
	seen := fmt.Sprintf("all %s of event seen", cli.Number(len(st.Seen), "kind"))
	if n := len(st.Unseen); n > 0 {
		seen = fmt.Sprintf("%d of %s of event seen, never %s", len(st.Seen), cli.Number(len(st.Seen)+n, "kind"),
			strings.Join(st.Unseen, ", "))
	}
	for _, s := range st.Sources {
		seen += fmt.Sprintf("; %s at %d of %s", s.Source, s.Fired, cli.Number(s.Visited, "place"))
	}
	return append(lines, seen)
}

// estimable is the least number of sampled runs from which a chance is printed. From fewer the interval is
// wider than 40 points, whatever was seen.
const estimable = 30

// unseenShare prints the chance that one more run shows a behaviour that the sample doesn't have.
func unseenShare(st *explore.Stats) string {
	if st.Sampled < estimable {
		return ", too few to estimate what is unseen"
	}
	c := st.New
	return fmt.Sprintf("; %s %% chance (%s to %s) that the next run shows a new one",
		cli.Tenths(c.Estimate), cli.Tenths(c.Low), cli.Tenths(c.High))
}
